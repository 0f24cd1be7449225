#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/command_line.h"
#include "sim/cli/commands/asked_program.h"
#include "sim/cli/results/progress.h"
#include "sim/cli/results/run_folder.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

struct RunOptions {
  std::vector<std::filesystem::path> files;
  ScenarioChanges changes;
  std::filesystem::path out;  // empty: out/<name>
  unsigned jobs = 0;          // 0: default_jobs()
  std::optional<Shard> shard = {};
  RunFolder::Begin begin = RunFolder::Begin::new_or_go_on;
  Compression compression = Compression::none;
  bool plot = false, quiet = false;
  Progress::Style progress = Progress::Style::text;
  bool report = true;  // say at the end what is where, with the table unless quiet

  /// What a call is about to do, before its runs.
  bool tells() const { return !quiet || progress == Progress::Style::text; }
};

struct SearchOptions {
  AskedCall call;
  double beta = 0.01;                 // what a setting's accuracy may lack of the target
  std::uint32_t settings = 5;         // tried at most; 0: as many as the table has
  std::uint32_t runs = 5;             // of each setting
  std::uint32_t first_runs = 5;       // of the first protocol alone, without a target
  std::optional<double> target = {};  // accuracy; none: that of the first protocol alone
  std::filesystem::path accuracies;   // a table of runs made elsewhere; empty: runs are trained
};

/// Results are printed to stdout; what is returned is the exit status; mistakes are exceptions
/// (ScenarioError, UsageError, std::runtime_error).
int run_scenarios(const RunOptions& options);
int search_switch_point(SearchOptions options);
/// options: words for plot.py besides the folders.
int plot_folders(const std::vector<std::filesystem::path>& folders, Words options = {});

extern const Command run_command, collect_command, reproduce_command, search_command,
    advise_command, fit_command, theory_command, validate_command, list_command, schema_command,
    signature_command, plot_command, report_command;

/// In the order of the help.
inline constexpr const Command* all_commands[] = {
    &run_command,       &collect_command, &reproduce_command, &search_command, &advise_command,
    &fit_command,       &theory_command,  &validate_command,  &list_command,   &schema_command,
    &signature_command, &plot_command,    &report_command};

}  // namespace gradrace
