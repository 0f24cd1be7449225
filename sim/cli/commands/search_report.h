#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/commands/switch_search.h"
#include "sim/cli/results/csv_file.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// Runs of one setting; times in the unit of the runtime distribution.
struct SettingRuns {
  double share;                    // of the work under the first protocol
  std::string folder;              // of their results
  std::vector<double> accuracies;  // NaN: diverged; empty: trained nothing
  std::vector<double> times;
  std::vector<double> others =
      {};  // accuracies of more runs of a table, by which nothing is decided
};

/// What a search of so many runs costs, and how often it ends at the same share.
struct CheaperSearch {
  std::uint32_t first_runs, runs;
  SearchCost cost;
  std::uint32_t successes;  // of Search::searches
};

/// A search that is done.
struct Search {
  SearchRule rule;
  double target = 0;  // accuracy
  SettingRuns first;  // the first protocol alone
  std::vector<SettingRuns> settings = {};
  SwitchPoint found = {};
  SearchCost cost = {};
  std::uint32_t searches = 0, successes = 0;  // by bootstrap; 0: not known
  std::string table;                          // hash of a table of runs; empty: they were trained
  std::vector<CheaperSearch> cheaper = {};    // with as many runs of a setting at most; or empty
  std::optional<double> lacking = {};         // the share that ended the search: the table lacks it
  std::vector<double> single = {};            // shares of which a single run shows no spread
  std::vector<double> unused = {};            // shares of a table that the search did not come to
  bool drops_policy = false;  // the first protocol alone goes without its greedy policy
};

struct SettingRow;
struct CostRow;
extern const CsvFile<SettingRow> search_csv;
extern const CsvFile<CostRow> costs_csv;

/// The text of search.csv, and of costs.csv.
std::string settings_text(const Search& search);
std::string costs_text(const Search& search);

/// search.json: what was asked, what was found, and the resolved scenario.  Of equal runs it is
/// the same text.  files: the hashes of the others.
std::string search_json(const Search& search, const Scenario& scenario,
                        const std::map<std::string, std::string>& files);

/// What is printed.
std::string search_report(const Search& search, const Scenario& scenario);

}  // namespace gradrace
