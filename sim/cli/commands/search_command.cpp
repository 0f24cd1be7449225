#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "distributions/fit/table.h"
#include "sim/cli/commands/asked_program.h"
#include "sim/cli/commands/commands.h"
#include "sim/cli/output/published_files.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/usage_error.h"
#include "sim/message_text.h"

namespace gradrace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse_search(const Scenario& scenario, const std::string& what) {
  throw UsageError(scenario.file.string() + ": search " + what);
}

/// Settings are compared by their test errors after equal work.
void check_runs(const Scenario& scenario, bool trains) {
  if (!scenario.swept_paths.empty()) {
    refuse_search(scenario, "takes a single point, and this scenario sweeps " +
                                scenario.swept_paths.front() + "; allowed: no sweep");
  }
  const Point& point = scenario.first();
  if (trains && (!point.with_model() || !point.model->has_test_error())) {
    refuse_search(
        scenario,
        "compares test errors, and this scenario has none; allowed: a model of a data set with "
        "classes, and no timing_only; or --accuracies");
  }
  const auto other = [&](const StopCondition& one) { return !one.is_work && one.of(point.stop); };
  if (std::ranges::any_of(stop_conditions(), other)) {
    refuse_search(
        scenario,
        "compares runs of equal work, which other limits may end earlier; allowed in stop: "
        "gradients, epochs");
  }
}

/// Each setting halves what the next one differs by from one that was tried.
void check_settings(const Scenario& scenario, std::uint32_t settings) {
  const Point& point = scenario.first();
  const Stop& stop = point.stop;
  const double work = stop.gradients
                          ? static_cast<double>(*stop.gradients)
                          : *stop.epochs * static_cast<double>(point.model->training_rows()) /
                                point.model->minibatch().mean();
  const int most = std::max(1, std::ilogb(work));
  if (settings > static_cast<std::uint32_t>(most)) {
    refuse_search(scenario,
                  "--settings " + std::to_string(settings) + ": of " + number_text(work) +
                      " gradients the last settings would differ by less than one; allowed: 1 "
                      "to " +
                      std::to_string(most));
  }
}

/// A row a run, {"file", "hash", "rows": [[share, accuracy], ...]}, null for one that diverged.
Json read_accuracies(const fs::path& file, bool has_target) {
  Json rows = Json::array();
  try {
    const Table table = read_table(file);
    const auto shares = table.column("share", "column"),
               values = table.column("accuracy", "column");
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const std::string &of_share = table.rows[i][shares], &value = table.rows[i][values];
      const auto refuse = [&](const std::string& what) {
        throw UsageError("--accuracies: " + file.string() + ":" + std::to_string(table.lines[i]) +
                         ": " + what);
      };
      double share = 0, accuracy = 0;
      if (!parse_number(of_share, share) || !(share > 0 && share <= 1) ||
          (!value.empty() && !(parse_number(value, accuracy) && accuracy >= 0 && accuracy <= 1)))
        refuse("got share \"" + of_share + "\", accuracy \"" + value +
               "\"; allowed: a share above 0, up to 1, and an accuracy of 0 to 1, which is empty "
               "for a run that diverged");
      if (value.empty() && share == 1 && !has_target)
        refuse(
            "a run of the first protocol alone diverged, so that there is no accuracy to reach; "
            "allowed: --target");
      rows.push_back({share, value.empty() ? Json() : Json(accuracy)});
    }
    return {{"file", file.string()}, {"hash", table.hash}, {"rows", rows}};
  } catch (const TraceError& error) {
    throw UsageError(std::string("--accuracies: ") + error.what() +
                     (error.allowed.empty() ? "" : "; allowed: " + error.allowed));
  }
}

/// What search.py is to search for.
Json asked(const Scenario& scenario, const SearchOptions& options, const Json& table) {
  Json found = asked_of(options.call, scenario);
  found.update({{"rule",
                 {{"beta", options.beta},
                  {"settings", options.settings},
                  {"runs", options.runs},
                  {"first_runs", options.target ? 0 : options.first_runs}}},
                {"target", options.target ? Json(*options.target) : Json()},
                {"table", table}});
  return found;
}

const AskedProgram search_program{
    .script = "search/search.py", .record = search_record, .files = {"search.csv", "costs.csv"}};

}  // namespace

int search_switch_point(SearchOptions options) {
  const Scenario scenario = read_scenario(options.call.file, options.call.changes);
  const bool trains = options.accuracies.empty();
  check_runs(scenario, trains);
  if (options.settings > 0) check_settings(scenario, options.settings);
  if (trains) options.call.changes = with_one_device(options.call, options.runs);
  const Json table =
      trains ? Json() : read_accuracies(options.accuracies, options.target.has_value());
  if (options.call.out.empty()) options.call.out = "out/search-" + scenario.first().name;
  if (!trains) note_if_mixed(fs::absolute(options.accuracies).parent_path());
  return publish_answer(search_program, options.call, scenario, asked(scenario, options, table));
}

static int search(const Words& words) {
  Syntax syntax{.positional = "file"};
  syntax.options.add_options()                                                                 //
      ("beta", po::value<std::string>()->value_name("X"),                                      //
       "accuracy that a setting may lack of the target (default 0.01)")                        //
      ("runs", po::value<std::string>()->value_name("R"), "runs of each setting (default 5)")  //
      ("first-runs", po::value<std::string>()->value_name("N"),                                //
       "runs of the first protocol alone, whose mean accuracy is the target (default 5)")      //
      ("target", po::value<std::string>()->value_name("A"),                                    //
       "the target is known, of a job that recurs: no such runs")                              //
      ("settings", po::value<std::string>()->value_name("M"), "settings tried (default 5)")    //
      ("accuracies", po::value<std::string>()->value_name("FILE"),                             //
       "CSV file of runs made elsewhere, columns share and accuracy: nothing is trained");
  add_asked_options(syntax, "search");
  const auto call = parse(search_command, words, syntax);
  if (!call) return 0;
  SearchOptions options;
  options.call = asked_call(*call);
  if (call->has("beta")) options.beta = call->fraction("beta");
  options.settings = call->count("settings", options.settings);
  options.runs = call->count("runs", options.runs);
  options.first_runs = call->count("first-runs", options.first_runs);
  if (call->has("target")) options.target = call->fraction("target");
  if (options.target && call->has("first-runs"))
    call->refuse("--first-runs find the target, and --target gives it; take one");
  options.accuracies = call->path("accuracies");
  return search_switch_point(options);
}

extern const Command search_command{
    "search", "finds how early a job may switch from its first protocol to its second",
    "  gradrace search SCENARIO [options]\n\n"
    "The scenario's protocol has two phases (gradrace list switch), the first of which ends by\n"
    "work; its model has a test error, and stop counts gradients or epochs.  The search halves\n"
    "the share of the work under the first protocol: 50 %, then 25 % if the mean accuracy of R\n"
    "runs (1 - final test error) is within beta of the target, else 75 %, and so on, M times; a\n"
    "run that diverged fails its setting (Sync-Switch's timing policy, Li et al., ICDCS 2021).\n\n"
    "Prints the path, the switch point, what the search costs in runs of the first protocol\n"
    "alone, after how many runs of the job the switch has saved that, how surely such a search\n"
    "ends there, and all that for fewer runs.  Writes search.csv, costs.csv, search.json and a\n"
    "folder of results for each setting, whose replicas are the same R.  After an interruption\n"
    "the same call goes on: settings that are whole are kept, if scenario, runs and program are\n"
    "the same.\n\n"
    "With --accuracies the runs were made elsewhere: a row a run, of share 1 for the first\n"
    "protocol alone, without an accuracy where it diverged.  Of each share the first R (N) rows\n"
    "decide and are paid for; how surely a search ends there is told from all.  The scenario "
    "gives\n"
    "times alone, and the search ends where the table does.\n\n"
    "Examples:\n"
    "  gradrace search job.json                            how early may it switch?\n"
    "  gradrace search job.json --runs 3 --first-runs 3    a cheaper search, less sure\n"
    "  gradrace search job.json --target 0.919             a job that recurs: accuracy is known\n"
    "  gradrace search job.json --beta 0.002 --settings 4 --out out/strict\n"
    "  gradrace search job.json --accuracies runs.csv      of runs that were made elsewhere\n",
    search};

}  // namespace gradrace
