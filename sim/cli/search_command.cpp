#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "distributions/trace.h"
#include "sim/cli/commands.h"
#include "sim/cli/csv.h"
#include "sim/cli/manifest.h"
#include "sim/cli/output_folder.h"
#include "sim/cli/search_report.h"
#include "sim/cli/usage_error.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;
using Sets = std::vector<ScenarioChanges::Set>;

constexpr std::uint32_t resampled_searches = 4000;

struct Interrupted {};

[[noreturn]] void refuse(const Scenario& scenario, const std::string& what) {
  throw UsageError(scenario.file.string() + ": search " + what);
}

/// Settings are compared by their test errors after equal work.
void check_runs(const Scenario& scenario) {
  if (!scenario.swept_paths.empty()) {
    refuse(scenario, "takes a single point, and this scenario sweeps " +
                         scenario.swept_paths.front() + "; allowed: no sweep");
  }
  const Point& point = scenario.first();
  if (!point.with_model() || !point.model->has_test_error()) {
    refuse(scenario,
           "compares test errors, and this scenario has none; allowed: a model of a data set with "
           "classes, and no timing_only");
  }
  const Stop& stop = point.stop;
  if (stop.time || stop.updates || stop.loss || stop.test_error) {
    refuse(scenario,
           "compares runs of equal work, which other limits may end earlier; allowed in stop: "
           "gradients, epochs");
  }
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

/// Runs settings of a scenario, each into a folder of its own, unless they are there.
class SettingRunner {
 public:
  SettingRunner(const Scenario& scenario, const SearchOptions& options, std::filesystem::path out)
      : first_phase_(first_phase(scenario)), options_(options), out_(std::move(out)) {}

  SettingRuns switched_at(double share) const {
    return run(share, "share-" + number_text(share), options_.rule.runs,
               {{"protocol.phases.0.end.work", number_text(share), "search"}});
  }

  /// Trained where the target is to be found, else for its time.
  SettingRuns first_alone() const {
    const Sets alone{{"protocol.phases", Json::array({first_phase_}).dump(),
                      "search (the first protocol alone)"}};
    if (options_.rule.first_runs > 0) {
      return run(1, "first-protocol", options_.rule.first_runs, alone);
    }
    const Scenario scenario = read_scenario(options_.file, with(alone));
    if (scenario.first().make_protocol()->needs_evaluations()) {
      refuse(scenario,
             "--target takes the first protocol's time from runs without gradients, and it "
             "decides by the loss; allowed: --first-runs");
    }
    Sets timed = alone;
    timed.push_back({"timing_only", "true", "search --target (the first protocol's time)"});
    return run(1, "first-protocol-time", options_.rule.runs, timed);
  }

 private:
  ScenarioChanges with(const Sets& sets) const {
    ScenarioChanges changes = options_.changes;
    changes.sets.insert(changes.sets.end(), sets.begin(), sets.end());
    return changes;
  }

  SettingRuns run(double share, const std::string& name, std::uint32_t runs, Sets sets) const {
    sets.push_back({"name", Json(name).dump(), "search"});
    sets.push_back({"replicas", std::to_string(runs), "search"});
    RunOptions run;
    run.files = {options_.file};
    run.changes = with(sets);
    run.out = out_ / name;
    run.jobs = options_.jobs;
    run.force = true;  // what is there is unfinished
    run.quiet = options_.quiet;
    run.report = false;
    const bool held =
        !options_.force && holds_results(run.out, read_scenario(options_.file, run.changes));
    if (!held && run_command(run) != 0) throw Interrupted();
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

Search search_for(const Scenario& scenario, const SearchOptions& options,
                  const SettingRunner& runner) {
  Search search{options.rule, 0, runner.first_alone(), {}, {}, {}, 0, 0};
  search.target = target_of(search.first, options);
  search.found = find_switch_point(search.rule, search.target, [&](double share) {
    return mean(search.settings.emplace_back(runner.switched_at(share)).accuracies);
  });
  const double first_time = mean(search.first.times);
  std::vector<double> times;
  SearchedRuns runs{search.first.accuracies, {}};
  double chosen = 1;
  for (const auto& setting : search.settings) {
    times.push_back(mean(setting.times) / first_time);
    runs.settings.push_back(setting.accuracies);
    if (setting.share == search.found.share) chosen = times.back();
  }
  search.cost = search_cost(search.rule, times, chosen);
  search.searches = search.rule.runs > 1 ? resampled_searches : 0;
  search.successes = count_successes(search.rule, search.target, search.found, runs,
                                     search.searches, scenario.first().seed);
  return search;
}

}  // namespace

int search_command(const SearchOptions& options) {
  const Scenario scenario = read_scenario(options.file, options.changes);
  check_runs(scenario);
  const std::filesystem::path out =
      options.out.empty() ? "out/search-" + scenario.first().name : options.out.string();
  const SettingRunner runner(scenario, options, out);
  if (!options.force && std::filesystem::exists(out / "manifest.json")) {
    throw UsageError(out.string() + ": holds results of runs; use --out DIR for another folder");
  }
  try {
    const Search search = search_for(scenario, options, runner);
    OutputFolder folder(out, true);
    folder.append("search.csv", search_csv(search));
    folder.append("search.json", search_json(search, scenario));
    folder.publish();
    if (!options.quiet) std::cout << search_report(search, scenario);
    std::cout << "results: " << (folder.path() / "").string() << '\n' << std::flush;
  } catch (const Interrupted&) {
    std::cerr << "the same call goes on where it was\n";
    return 130;
  }
  return 0;
}

}  // namespace gradrace
