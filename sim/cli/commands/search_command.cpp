#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "distributions/fit/trace.h"
#include "sim/cli/commands/commands.h"
#include "sim/cli/commands/search_report.h"
#include "sim/cli/results/csv.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/results/output_folder.h"
#include "sim/cli/usage_error.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace po = boost::program_options;

namespace {

using Json = nlohmann::ordered_json;
using Sets = std::vector<ScenarioChanges::Set>;

constexpr std::uint32_t resampled_searches = 4000;
constexpr double first_share = 0.5;  // that a search tries

struct Interrupted {};

[[noreturn]] void refuse(const Scenario& scenario, const std::string& what) {
  throw UsageError(scenario.file.string() + ": search " + what);
}

/// Settings are compared by their test errors after equal work.
void check_runs(const Scenario& scenario, bool trains) {
  if (!scenario.swept_paths.empty()) {
    refuse(scenario, "takes a single point, and this scenario sweeps " +
                         scenario.swept_paths.front() + "; allowed: no sweep");
  }
  const Point& point = scenario.first();
  if (trains && (!point.with_model() || !point.model->has_test_error())) {
    refuse(scenario,
           "compares test errors, and this scenario has none; allowed: a model of a data set with "
           "classes, and no timing_only; or --accuracies");
  }
  const auto other = [&](const StopCondition& one) { return !one.is_work && one.of(point.stop); };
  if (std::ranges::any_of(stop_conditions(), other)) {
    refuse(scenario,
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
                                point.model->minibatch();
  const int most = std::max(1, std::ilogb(work));
  if (settings > static_cast<std::uint32_t>(most)) {
    refuse(scenario, "--settings " + std::to_string(settings) + ": of " + number_text(work) +
                         " gradients the last settings would differ by less than one; allowed: 1 "
                         "to " +
                         std::to_string(most));
  }
}

/// Whether a policy of the first phase needs a phase after it.
bool leads_on(const Json& phase) {
  return phase.contains("stragglers") && phase["stragglers"].value("kind", "") == "greedy";
}

/// The first phase of two, without its end, which is what the search looks for.
Json first_phase(const Scenario& scenario) {
  const Json protocol = Json::parse(scenario.resolved).at("protocol");
  if (!protocol.contains("phases") || protocol["phases"].size() != 2) {
    refuse(scenario,
           "looks for the switch point of a protocol of two phases, and this scenario's is not "
           "one; see gradrace list switch");
  }
  Json phase = protocol["phases"][0];
  if (phase["end"].size() != 1 || !phase["end"].contains("work")) {
    refuse(scenario,
           "sets the work at which the first phase ends, and this one has another end; allowed: "
           "protocol.phases[0].end of work alone");
  }
  phase.erase("end");
  return phase;
}

/// A table of runs that were made elsewhere.
struct Accuracies {
  std::string hash;                                     // of the file
  std::map<double, std::vector<double>> of_share = {};  // NaN for an empty cell: it diverged
};

Accuracies read_accuracies(const SearchOptions& options) {
  const std::filesystem::path& file = options.accuracies;
  Accuracies accuracies;
  if (file.empty()) return accuracies;
  try {
    const Table table = read_table(file);
    accuracies.hash = table.hash;
    const auto shares = table.column("share", "column"),
               values = table.column("accuracy", "column");
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const auto& row = table.rows[i];
      double share = 0, accuracy = std::numeric_limits<double>::quiet_NaN();
      const bool diverged = row[values].empty();
      if (!parse_number(row[shares], share) || !(share > 0 && share <= 1) ||
          (!diverged && !(parse_number(row[values], accuracy) && accuracy >= 0 && accuracy <= 1))) {
        throw UsageError("--accuracies: " + file.string() + ":" + std::to_string(table.lines[i]) +
                         ": got share \"" + row[shares] + "\", accuracy \"" + row[values] +
                         "\"; allowed: a share above 0, up to 1, and an accuracy of 0 to 1, which "
                         "is empty for a run that diverged");
      }
      if (diverged && share == 1 && !options.target) {
        throw UsageError("--accuracies: " + file.string() + ":" + std::to_string(table.lines[i]) +
                         ": a run of the first protocol alone diverged, so that there is no "
                         "accuracy to reach; allowed: --target");
      }
      accuracies.of_share[share].push_back(accuracy);
    }
  } catch (const TraceError& error) {
    throw UsageError(std::string("--accuracies: ") + error.what() +
                     (error.allowed.empty() ? "" : "; allowed: " + error.allowed));
  }
  return accuracies;
}

/// Runs settings of a scenario, each into a folder of its own, unless they are there.
class SettingRunner {
 public:
  SettingRunner(const Scenario& scenario, const SearchOptions& options, std::filesystem::path out)
      : first_phase_(first_phase(scenario)),
        options_(options),
        out_(std::move(out)),
        known_(read_accuracies(options)) {
    if (trains()) return;
    const std::string table = "--accuracies: " + options.accuracies.string();
    if (options.rule.first_runs > 0 && !known_.of_share.contains(1)) {
      throw UsageError(table +
                       ": has no runs of the first protocol alone, of share 1; allowed: --target");
    }
    if (!known_.of_share.contains(first_share)) {
      throw UsageError(table + ": has no runs of share 0.5, which a search tries first");
    }
  }

  /// Of the table of accuracies; empty where there is none.
  const std::string& table() const { return known_.hash; }

  /// What the search may spend.
  SearchRule rule() const {
    SearchRule rule = options_.rule;
    if (options_.as_tabled) {
      rule.settings = static_cast<std::uint32_t>(known_.of_share.size() - known_.of_share.count(1));
    }
    return rule;
  }

  /// Shares of the table below 1 that the search did not come to.
  std::vector<double> unused(const std::vector<SettingRuns>& settings) const {
    std::vector<double> shares;
    for (const auto& [share, accuracies] : known_.of_share) {
      const bool is_used =
          std::ranges::find(settings, share, &SettingRuns::share) != settings.end();
      if (share < 1 && !is_used) shares.push_back(share);
    }
    return shares;
  }

  /// Whether the first protocol alone goes without the policy that its phase has.
  bool drops_policy() const { return leads_on(first_phase_); }

  /// None where the table of accuracies has no such runs.
  std::optional<SettingRuns> switched_at(double share) const {
    const Sets switched{{"protocol.phases.0.end.work", number_text(share), "search"}};
    const std::string name = "share-" + number_text(share);
    if (trains()) return run(share, name, options_.rule.runs, switched);
    if (!known_.of_share.contains(share)) return {};
    SettingRuns setting = time(share, name, switched);
    setting.accuracies = known_.of_share.at(share);
    return setting;
  }

  /// Trained where the target is to be found so, else for its time.
  SettingRuns first_alone() const {
    Json phase = first_phase_;
    if (drops_policy()) phase.erase("stragglers");
    const Sets alone{
        {"protocol.phases", Json::array({phase}).dump(), "search (the first protocol alone)"}};
    if (trains() && options_.rule.first_runs > 0) {
      return run(1, "first-protocol", options_.rule.first_runs, alone);
    }
    SettingRuns setting = time(1, "first-protocol-time", alone);
    if (options_.rule.first_runs > 0) setting.accuracies = known_.of_share.at(1);
    return setting;
  }

 private:
  bool trains() const { return options_.accuracies.empty(); }

  /// Runs without gradients.
  SettingRuns time(double share, const std::string& name, Sets sets) const {
    const Scenario scenario = read_scenario(options_.file, with(sets));
    if (scenario.first().make_protocol()->needs_evaluations()) {
      refuse(scenario, std::string(trains() ? "--target" : "--accuracies") +
                           " takes times from runs without gradients, and a protocol decides by "
                           "the loss" +
                           (trains() ? "; allowed: --first-runs" : ""));
    }
    sets.push_back({"timing_only", "true", "search (for its time)"});
    return run(share, name, options_.rule.runs, sets);
  }

  ScenarioChanges with(const Sets& sets) const {
    ScenarioChanges changes = options_.changes;
    changes.sets.insert(changes.sets.end(), sets.begin(), sets.end());
    return changes;
  }

  SettingRuns run(double share, const std::string& name, std::uint32_t runs, Sets sets) const {
    sets.push_back({"name", Json(name).dump(), "search"});
    sets.push_back({"replicas", std::to_string(runs), "search"});
    const RunOptions run{.files = {options_.file},
                         .changes = with(sets),
                         .out = out_ / name,
                         .jobs = options_.jobs,
                         .force = true,  // what is there is unfinished
                         .quiet = options_.quiet,
                         .report = false};
    const bool held =
        !options_.force && holds_results(run.out, read_scenario(options_.file, run.changes));
    if (!held && run_scenarios(run) != 0) throw Interrupted();
    return read_runs(share, run.out);
  }

  static SettingRuns read_runs(double share, const std::filesystem::path& folder) {
    const Table table = read_table(folder / "runs.csv");
    const auto column = [&](const char* name) { return table.column(name, "column"); };
    const auto status = column("status"), error = column("final_test_error"),
               time = column("sim_time");
    SettingRuns setting{share, folder.filename().string(), {}, {}};
    for (const auto& row : table.rows) {
      double number = 0;
      if (parse_number(row[time], number)) setting.times.push_back(number);
      if (row[status] == "diverged") {
        setting.accuracies.push_back(std::numeric_limits<double>::quiet_NaN());
      } else if (parse_number(row[error], number)) {
        setting.accuracies.push_back(1 - number);
      }
    }
    return setting;
  }

  const Json first_phase_;
  const SearchOptions& options_;
  const std::filesystem::path out_;
  const Accuracies known_;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double target_of(const SettingRuns& first, const SearchOptions& options) {
  const double target = options.target ? *options.target : mean(first.accuracies);
  if (std::isnan(target)) {
    throw std::runtime_error(
        "search: a run of the first protocol alone diverged, so that there is no accuracy to "
        "reach; see " +
        first.folder);
  }
  return target;
}

/// With as many runs of a setting or fewer, above 10 by halves, of a new job, whose target takes as
/// many of the first protocol, and of one that recurs.
std::vector<SearchRule> cheaper_rules(SearchRule rule) {
  std::vector<SearchRule> rules;
  for (const bool is_new : {true, false}) {
    if (is_new && rule.first_runs == 0) continue;
    for (std::uint32_t runs = rule.runs; runs > 0; runs = runs > 10 ? runs / 2 : runs - 1) {
      rules.push_back({rule.beta, rule.settings, runs, is_new ? runs : 0});
    }
  }
  return rules;
}

/// Shares of which a single run shows no spread.
std::vector<double> single_runs(const Search& search) {
  std::vector<double> shares;
  if (search.first.accuracies.size() == 1) shares.push_back(1);
  for (const auto& setting : search.settings) {
    if (setting.accuracies.size() == 1) shares.push_back(setting.share);
  }
  return shares;
}

Search search_for(const Scenario& scenario, const SearchOptions& options,
                  const SettingRunner& runner) {
  Search search{.rule = runner.rule(),
                .first = runner.first_alone(),
                .table = runner.table(),
                .drops_policy = runner.drops_policy()};
  search.target = target_of(search.first, options);
  const auto accuracy = [&](double share) -> std::optional<double> {
    auto setting = runner.switched_at(share);
    if (!setting) {
      search.lacking = share;
      return {};
    }
    return mean(search.settings.emplace_back(std::move(*setting)).accuracies);
  };
  search.found = find_switch_point(search.rule, search.target, accuracy);
  search.single = single_runs(search);
  search.unused = runner.unused(search.settings);
  const double first_time = mean(search.first.times);
  std::vector<double> times;
  SearchedRuns runs{search.first.accuracies, {}};
  double chosen = 1;
  for (const auto& setting : search.settings) {
    times.push_back(mean(setting.times) / first_time);
    runs.settings.push_back(setting.accuracies);
    if (setting.share == search.found.share) chosen = times.back();
  }
  const auto successes = [&](const SearchRule& rule) {
    return count_successes(rule, search.target, search.found, runs, search.searches,
                           scenario.first().seed);
  };
  search.cost = search_cost(search.rule, times, chosen);
  if (!search.single.empty() || search.lacking) return search;
  search.searches = resampled_searches;
  search.successes = successes(search.rule);
  for (const SearchRule& rule : cheaper_rules(search.rule)) {
    search.cheaper.push_back(
        {rule.first_runs, rule.runs, search_cost(rule, times, chosen), successes(rule)});
  }
  return search;
}

}  // namespace

int search_switch_point(const SearchOptions& options) {
  const Scenario scenario = read_scenario(options.file, options.changes);
  check_runs(scenario, options.accuracies.empty());
  if (!options.as_tabled) check_settings(scenario, options.rule.settings);
  const std::filesystem::path out =
      options.out.empty() ? "out/search-" + scenario.first().name : options.out.string();
  const SettingRunner runner(scenario, options, out);
  if (!options.force && std::filesystem::exists(out / "manifest.json")) {
    throw UsageError(out.string() + ": holds results of runs; use --out DIR for another folder");
  }
  OutputFolder folder(out, true);
  try {
    const Search search = search_for(scenario, options, runner);
    folder.append("search.csv", settings_text(search));
    if (!search.cheaper.empty()) folder.append("costs.csv", costs_text(search));
    folder.append("search.json", search_json(search, scenario));
    folder.publish();
    if (!options.report) return 0;
    if (!options.quiet) std::cout << search_report(search, scenario);
    std::cout << "results: " << printable((folder.path() / "").string()) << '\n' << std::flush;
  } catch (const Interrupted&) {
    std::cerr << "the same call goes on where it was\n";
    return 130;
  }
  return 0;
}

static SearchRule search_rule_of(const Values& values) {
  SearchRule rule;
  if (values.count("beta") != 0) rule.beta = fraction_of("search", values, "beta");
  rule.settings = count_of("search", values, "settings", rule.settings);
  rule.runs = count_of("search", values, "runs", rule.runs);
  rule.first_runs = count_of("search", values, "first-runs", rule.first_runs);
  if (values.count("target") == 0) return rule;
  if (values.count("first-runs") != 0) {
    throw UsageError("search: --first-runs find the target, and --target gives it; take one");
  }
  rule.first_runs = 0;
  return rule;
}

static int search(const Words& words) {
  Syntax syntax{.positional = "file"};
  syntax.options.add_options()                                                               //
      ("beta", po::value<double>()->value_name("X"),                                         //
       "accuracy that a setting may lack of the target (default 0.01)")                      //
      ("runs", po::value<int>()->value_name("R"), "runs of each setting (default 5)")        //
      ("first-runs", po::value<int>()->value_name("N"),                                      //
       "runs of the first protocol alone, whose mean accuracy is the target (default 5)")    //
      ("target", po::value<double>()->value_name("A"),                                       //
       "the target is known, of a job that recurs: no such runs")                            //
      ("settings", po::value<int>()->value_name("M"), "settings tried (default 5)")          //
      ("accuracies", po::value<std::string>()->value_name("FILE"),                           //
       "CSV file of runs made elsewhere, columns share and accuracy: nothing is trained")    //
      ("out", po::value<std::string>()->value_name("DIR"),                                   //
       "output folder (default out/search-<name>)")                                          //
      ("jobs", po::value<int>()->value_name("N"), "threads (default: cores; CUDA runs/64)")  //
      ("force", "run all again, results that are there too")                                 //
      ("quiet", "no progress, no table");
  add_change_options(syntax);
  const auto values = parse(search_command, words, syntax);
  if (!values) return 0;
  SearchOptions options;
  const auto files = paths_of("search", *values, "file");
  if (files.size() != 1) throw UsageError("search: takes one scenario file");
  options.file = files.front();
  options.changes = changes_of("search", *values);
  options.rule = search_rule_of(*values);
  if (values->count("target") != 0) options.target = fraction_of("search", *values, "target");
  options.accuracies = path_of("search", *values, "accuracies");
  options.out = path_of("search", *values, "out");
  options.jobs = jobs_of("search", *values);
  options.force = values->count("force") != 0;
  options.quiet = values->count("quiet") != 0;
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
    "Prints the path, the switch point, what the search costs in trainings with the first\n"
    "protocol alone, after how many recurrences of the job it has paid, how surely such a search\n"
    "ends there, and all that for fewer runs.  Writes search.csv, costs.csv, search.json and a\n"
    "folder of results for each setting, whose replicas are the same R.  After an interruption\n"
    "the same call goes on: settings that are whole are kept, if scenario, runs and program are\n"
    "the same.\n\n"
    "With --accuracies the runs were made elsewhere: a row a run, of share 1 for the first\n"
    "protocol alone, without an accuracy where it diverged.  The scenario gives times alone, and\n"
    "the search ends where the table does.\n\n"
    "Examples:\n"
    "  gradrace search job.json                            how early may it switch?\n"
    "  gradrace search job.json --runs 3 --first-runs 3    a cheaper search, less sure\n"
    "  gradrace search job.json --target 0.919             a job that recurs: accuracy is known\n"
    "  gradrace search job.json --beta 0.002 --settings 4 --out out/strict\n"
    "  gradrace search job.json --accuracies runs.csv      of runs that were made elsewhere\n",
    search};

}  // namespace gradrace
