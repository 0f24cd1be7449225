#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/gpu/cuda/cuda_device.h"
#include "sim/cli/commands/commands.h"
#include "sim/cli/commands/setting_runner.h"
#include "sim/cli/output/disk.h"
#include "sim/cli/output/output_folder.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/scenario/auto_device.h"
#include "sim/cli/usage_error.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace po = boost::program_options;

namespace {

constexpr std::uint32_t resampled_searches = 4000;

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
                                point.model->minibatch();
  const int most = std::max(1, std::ilogb(work));
  if (settings > static_cast<std::uint32_t>(most)) {
    refuse_search(scenario,
                  "--settings " + std::to_string(settings) + ": of " + number_text(work) +
                      " gradients the last settings would differ by less than one; allowed: 1 "
                      "to " +
                      std::to_string(most));
  }
}

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

/// All that are known of the setting.
std::vector<double> known_accuracies(const SettingRuns& setting) {
  std::vector<double> known = setting.accuracies;
  known.insert(known.end(), setting.others.begin(), setting.others.end());
  return known;
}

/// Shares of which a single run shows no spread.
std::vector<double> single_runs(const Search& search) {
  std::vector<double> shares;
  if (known_accuracies(search.first).size() == 1) shares.push_back(1);
  for (const auto& setting : search.settings) {
    if (known_accuracies(setting).size() == 1) shares.push_back(setting.share);
  }
  return shares;
}

/// Of the runs that decided, of which a table may have fewer than the rule asks for.
SearchCost cost_of(const Search& search, std::vector<double> times, double chosen) {
  SearchRule rule = search.rule;
  const auto runs_of = [](const SettingRuns& setting) {
    return static_cast<std::uint32_t>(setting.accuracies.size());
  };
  rule.first_runs = std::min(rule.first_runs, runs_of(search.first));
  for (std::size_t i = 0; i < times.size(); ++i)
    times[i] *= static_cast<double>(runs_of(search.settings[i])) / rule.runs;
  return search_cost(rule, times, chosen);
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
  SearchedRuns runs{known_accuracies(search.first), {}};
  double chosen = 1;
  for (const auto& setting : search.settings) {
    times.push_back(mean(setting.times) / first_time);
    runs.settings.push_back(known_accuracies(setting));
    if (setting.share == search.found.share) chosen = times.back();
  }
  const auto successes = [&](const SearchRule& rule) {
    return count_successes(rule, search.target, search.found, runs, search.searches,
                           scenario.first().seed);
  };
  search.cost = cost_of(search, times, chosen);
  if (!search.single.empty() || search.lacking) return search;
  search.searches = resampled_searches;
  search.successes = successes(search.rule);
  for (const SearchRule& rule : cheaper_rules(search.rule)) {
    search.cheaper.push_back(
        {rule.first_runs, rule.runs, search_cost(rule, times, chosen), successes(rule)});
  }
  return search;
}

/// The device that is chosen for the runs of a setting is that of all runs.
ScenarioChanges with_one_device(const SearchOptions& options) {
  ScenarioChanges changes = options.changes;
  changes.sets.push_back({"replicas", std::to_string(options.rule.runs), "search"});
  Scenario scenario = read_scenario(options.file, changes);
  settle_device(scenario, no_cuda_device);
  changes.sets.back() = {"device", device_of(scenario), "search"};
  return scenario.device_reason.empty() ? options.changes : changes;
}

}  // namespace

int search_switch_point(SearchOptions options) {
  const Scenario scenario = read_scenario(options.file, options.changes);
  check_runs(scenario, options.accuracies.empty());
  if (!options.as_tabled) check_settings(scenario, options.rule.settings);
  if (options.accuracies.empty()) options.changes = with_one_device(options);
  const std::filesystem::path out =
      options.out.empty() ? "out/search-" + scenario.first().name : options.out.string();
  const SettingRunner runner(scenario, options, out);
  note_if_mixed(out);
  if (!options.accuracies.empty())
    note_if_mixed(std::filesystem::absolute(options.accuracies).parent_path());
  const bool goes_on = PublishedFiles(out).record() == search_record;
  OutputFolder folder(out, {.record = search_record, .names = {"search.csv", "costs.csv"}},
                      options.force || goes_on);
  refuse_runs(out);
  try {
    const Search search = search_for(scenario, options, runner);
    folder.append("search.csv", settings_text(search));
    if (!search.cheaper.empty()) folder.append("costs.csv", costs_text(search));
    folder.append(search_record, search_json(search, scenario, folder.finish()));
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
