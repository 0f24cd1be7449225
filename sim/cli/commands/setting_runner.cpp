#include "sim/cli/commands/setting_runner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "distributions/fit/trace.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/usage_error.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

constexpr double first_share = 0.5;  // that a search tries

/// Whether a policy of the first phase needs a phase after it.
bool leads_on(const Json& phase) {
  return phase.contains("stragglers") && phase["stragglers"].value("kind", "") == "greedy";
}

/// The first phase of two, without its end, which is what the search looks for.
Json first_phase(const Scenario& scenario) {
  const Json protocol = Json::parse(scenario.resolved).at("protocol");
  if (!protocol.contains("phases") || protocol["phases"].size() != 2) {
    refuse_search(
        scenario,
        "looks for the switch point of a protocol of two phases, and this scenario's is not "
        "one; see gradrace list switch");
  }
  Json phase = protocol["phases"][0];
  if (phase["end"].size() != 1 || !phase["end"].contains("work")) {
    refuse_search(
        scenario,
        "sets the work at which the first phase ends, and this one has another end; allowed: "
        "protocol.phases[0].end of work alone");
  }
  phase.erase("end");
  return phase;
}

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

/// The first so many runs of a table are those of the search; the others are known besides.
void take(const std::vector<double>& accuracies, std::uint32_t runs, SettingRuns& setting) {
  const auto taken = accuracies.begin() + std::min<std::ptrdiff_t>(runs, std::ssize(accuracies));
  setting.accuracies.assign(accuracies.begin(), taken);
  setting.others.assign(taken, accuracies.end());
}

SettingRuns read_runs(double share, const std::filesystem::path& folder) {
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

}  // namespace

void refuse_search(const Scenario& scenario, const std::string& what) {
  throw UsageError(scenario.file.string() + ": search " + what);
}

SettingRunner::SettingRunner(const Scenario& scenario, const SearchOptions& options,
                             std::filesystem::path out)
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

SearchRule SettingRunner::rule() const {
  SearchRule rule = options_.rule;
  if (options_.as_tabled) {
    rule.settings = static_cast<std::uint32_t>(known_.of_share.size() - known_.of_share.count(1));
  }
  return rule;
}

std::vector<double> SettingRunner::unused(const std::vector<SettingRuns>& settings) const {
  std::vector<double> shares;
  for (const auto& [share, accuracies] : known_.of_share) {
    const bool is_used = std::ranges::find(settings, share, &SettingRuns::share) != settings.end();
    if (share < 1 && !is_used) shares.push_back(share);
  }
  return shares;
}

bool SettingRunner::drops_policy() const { return leads_on(first_phase_); }

std::optional<SettingRuns> SettingRunner::switched_at(double share) const {
  const Sets switched{{"protocol.phases.0.end.work", number_text(share), "search"}};
  const std::string name = "share-" + number_text(share);
  if (trains()) return run(share, name, options_.rule.runs, switched);
  if (!known_.of_share.contains(share)) return {};
  SettingRuns setting = time(share, name, switched);
  take(known_.of_share.at(share), options_.rule.runs, setting);
  return setting;
}

SettingRuns SettingRunner::first_alone() const {
  Json phase = first_phase_;
  if (drops_policy()) phase.erase("stragglers");
  const Sets alone{
      {"protocol.phases", Json::array({phase}).dump(), "search (the first protocol alone)"}};
  if (trains() && options_.rule.first_runs > 0) {
    return run(1, "first-protocol", options_.rule.first_runs, alone);
  }
  SettingRuns setting = time(1, "first-protocol-time", alone);
  if (options_.rule.first_runs > 0) take(known_.of_share.at(1), options_.rule.first_runs, setting);
  return setting;
}

SettingRuns SettingRunner::time(double share, const std::string& name, Sets sets) const {
  const Scenario scenario = read_scenario(options_.file, with(sets));
  if (scenario.first().make_protocol()->traits().needs_evaluations) {
    refuse_search(scenario,
                  std::string(trains() ? "--target" : "--accuracies") +
                      " takes times from runs without gradients, and a protocol decides by "
                      "the loss" +
                      (trains() ? "; allowed: --first-runs" : ""));
  }
  sets.push_back({"timing_only", "true", "search (for its time)"});
  return run(share, name, options_.rule.runs, sets);
}

ScenarioChanges SettingRunner::with(const Sets& sets) const {
  ScenarioChanges changes = options_.changes;
  changes.sets.insert(changes.sets.end(), sets.begin(), sets.end());
  return changes;
}

SettingRuns SettingRunner::run(double share, const std::string& name, std::uint32_t runs,
                               Sets sets) const {
  sets.push_back({"name", Json(name).dump(), "search"});
  sets.push_back({"replicas", std::to_string(runs), "search"});
  const RunOptions run{
      .files = {options_.file},
      .changes = with(sets),
      .out = out_ / name,
      .jobs = options_.jobs,
      .begin = options_.force ? RunFolder::Begin::anew : RunFolder::Begin::new_or_go_on,
      .quiet = options_.quiet,
      .progress = options_.quiet ? Progress::Style::none : Progress::Style::text,
      .report = false};
  const int status = run_scenarios(run);
  if (status == 130) throw Interrupted();
  if (status != 0) throw std::runtime_error(name + ": some of its runs failed");
  return read_runs(share, run.out);
}

}  // namespace gradrace
