#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/commands/switch_search.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

struct RunOptions {
  std::vector<std::filesystem::path> files;
  ScenarioChanges changes;
  std::filesystem::path out;  // empty: out/<name>
  unsigned jobs = 0;          // 0: default_jobs()
  bool force = false, plot = false, quiet = false;
  bool report = true;  // say at the end what is where, with the table unless quiet
};

struct ReproduceOptions {
  std::vector<std::string> papers;  // folders of scenarios/papers, or "all"; none: lists them
  ScenarioChanges changes;
  std::filesystem::path out;  // empty: out/<paper>; of several papers DIR/<paper>
  unsigned jobs = 0;          // 0: default_jobs()
  bool force = false, quiet = false;
};

struct SearchOptions {
  std::filesystem::path file;
  ScenarioChanges changes;
  SearchRule rule;                   // first_runs 0 with a target, and only then
  std::optional<double> target;      // accuracy; none: that of the first protocol alone
  std::filesystem::path accuracies;  // a table of runs made elsewhere; empty: runs are trained
  bool as_tabled = false;            // as many settings at the most as the table has
  std::filesystem::path out;         // empty: out/search-<name>
  unsigned jobs = 0;                 // 0: default_jobs()
  bool force = false, quiet = false;
  bool report = true;  // print the result
};

struct FitOptions {
  std::filesystem::path trace;
  std::optional<std::string> column, learner;  // empty learner: all rows are one learner's
  std::filesystem::path out;                   // empty: out/fit-<trace>
  bool force = false, plot = false;
};

/// Each command prints its result to stdout and returns the exit status; mistakes are exceptions
/// (ScenarioError, UsageError, std::runtime_error).
int run_command(const RunOptions& options);
int reproduce_command(const ReproduceOptions& options);
int search_command(const SearchOptions& options);
int fit_command(const FitOptions& options);
/// curves: the error curves in place of the table.
int theory_command(const std::filesystem::path& file, const ScenarioChanges& changes, bool curves);
int validate_command(const std::vector<std::filesystem::path>& files,
                     const ScenarioChanges& changes);
int list_command(const std::string& what);
int schema_command();
int signature_command();
int plot_command(const std::vector<std::filesystem::path>& folders);

}  // namespace gradrace
