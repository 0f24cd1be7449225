#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "models/make_device.h"
#include "sim/cli/commands/run_plan.h"
#include "sim/cli/scenario/scenario.h"
#include "sim/engine/run.h"
#include "sim/reading/rest_of.h"
#include "tests/fuzz/target.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

/// Numbers at the limits of what scenarios allow, and beyond.
const Json extremes[] = {0,          1,          -1,     2,       3,    0.5,  1e-3,
                         1e-9,       1e-300,     5e-324, 1e3,     1e6,  1e9,  1e30,
                         1e300,      1e308,      -0.5,   255,     1000, 4096, 65536,
                         2147483647, 4294967296, 1e15,   nullptr, true, "",   "sync"};

/// Changes the tree of a scenario: keys go, numbers become extreme, parts change places or come
/// from another scenario.
class TreeMutator {
 public:
  TreeMutator(const std::vector<std::string>& seeds, std::mt19937_64& random)
      : seeds_(seeds), random_(random) {}

  std::string scenario() {
    Json root = Json::parse(seeds_[below(seeds_.size())]);
    for (std::size_t left = below(5); left > 0; --left) change(root);
    return root.dump();
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }

  /// Pointers of all values but the root.
  static std::vector<Json::json_pointer> places(const Json& root) {
    std::vector<Json::json_pointer> all;
    const Json leaves = root.flatten();
    for (const auto& [pointer, value] : leaves.items()) {
      for (Json::json_pointer at(pointer); !at.empty(); at = at.parent_pointer()) all.push_back(at);
    }
    return all;
  }

  void change(Json& root) {
    const auto all = places(root);
    if (all.empty()) return;
    const auto& at = all[below(all.size())];
    if (!root.contains(at)) return;
    switch (below(6)) {
      case 0: {
        Json& parent = root.at(at.parent_pointer());
        if (parent.is_object()) parent.erase(at.back());
        break;
      }
      case 1:
      case 2:
        if (root.at(at).is_number()) root.at(at) = extremes[below(std::size(extremes))];
        break;
      case 3:
        root.at(at) = extremes[below(std::size(extremes))];
        break;
      case 4:
        if (const Json from = root.at(all[below(all.size())]); true) root.at(at) = from;
        break;
      default: {
        const Json other = Json::parse(seeds_[below(seeds_.size())]);
        const auto of_other = places(other);
        const auto& from = of_other[below(of_other.size())];
        root[from.to_string().substr(1, from.to_string().find('/', 1) - 1)] =
            other.at(Json::json_pointer(from.to_string().substr(0, from.to_string().find('/', 1))));
      }
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64& random_;
};

std::string mutated_tree(const std::vector<std::string>& seeds, std::uint64_t seed,
                         std::uint64_t n) {
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15u + n);
  return TreeMutator(seeds, random).scenario();
}

void check(bool holds, const char* what) {
  if (!holds) unexpected(what);
}

/// What holds of every run, whoever waits for whom.
void check_record(const RunRecord& record) {
  const Totals& totals = record.totals;
  check(std::isfinite(totals.time) && totals.time >= 0, "the clock ends at no time");
  check(totals.last_update_time <= totals.time, "the last update is after the end");
  check(totals.applied + totals.dropped + totals.cancelled + totals.lost <= totals.dispatched,
        "more gradients ended than began");
  std::uint64_t applied = 0, sum = 0;
  for (std::size_t s = 0; s < record.staleness_counts.size(); ++s) {
    applied += record.staleness_counts[s];
    sum += s * record.staleness_counts[s];
  }
  if (!record.staleness_counts.empty()) {
    check(applied == totals.applied, "staleness is counted of other gradients than are applied");
    check(sum == totals.staleness_sum, "staleness does not add up");
  }
  for (const LearnerTotals& learner : record.learners)
    check(learner.busy >= 0 && learner.busy <= totals.time * (1 + 1e-9),
          "a learner computes longer than the run takes");
}

Scenario read_with(std::string_view bytes, const std::vector<std::string>& sets) {
  ScenarioChanges changes;
  changes.data_may_lack = true;
  for (const std::string& set : sets) {
    changes.sets.push_back(
        {set.substr(0, set.find('=')), set.substr(set.find('=') + 1), "--set " + set});
  }
  return read_scenario_text(bytes, std::filesystem::absolute("scenarios/fuzz.json"), changes);
}

/// At most 50 ms of a run: the counts add up wherever it is stopped.
void run_point(const Point& point, Device* device) {
  const Race race = point.race();
  Run run(race, 0, device != nullptr, nullptr);
  const auto start = std::chrono::steady_clock::now();
  drive({&run, 1}, device,
        [&] { return std::chrono::steady_clock::now() - start < std::chrono::milliseconds(50); });
  check_record(run.record());
}

/// Some hundred gradients of the first points without gradients, and what theory says.
void run_points(std::string_view bytes) {
  const Scenario scenario = read_with(bytes, {R"(stop={"gradients": 300})", "timing_only=true"});
  for (std::size_t i = 0; i < std::min<std::size_t>(scenario.points.size(), 3); ++i) {
    const Point& point = scenario.points[i];
    if (point.cluster.learners > 2'000) continue;
    const Theory theory = point.theory();
    if (theory.iteration_time)
      check(theory.iteration_time->value >= 0, "a negative iteration time");
    run_point(point, nullptr);
  }
}

/// A few gradients of the first point, if it trains a small model by small minibatches.
void train_points(std::string_view bytes) {
  constexpr std::size_t most_numbers = 100'000, most_rows = 10'000;
  Scenario scenario = read_with(bytes, {R"(stop={"gradients": 20})"});
  scenario.points.resize(1, scenario.points.front());
  const Point& point = scenario.first();
  if (!point.with_model() || point.cluster.learners > 100) return;
  if (point.model->value_layout().numbers > most_numbers) return;
  if (point.model->minibatch().greatest() > most_rows) return;
  const RunPlan plan = plan_of(scenario, 1);
  run_point(point, make_device(*point.model, plan.groups.front().options).get());
}

void run_scenario(std::string_view bytes) { allow_told_errors(run_points, bytes); }

/// 1,000 rows of 1e6 features take gigabytes.
void train_scenario(std::string_view bytes) {
  allow_out_of_memory([](std::string_view text) { allow_told_errors(train_points, text); }, bytes);
}

/// The scenarios that come with the program, without those of papers.
std::vector<std::string> scenarios() {
  std::vector<std::string> found;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("scenarios"))
    if (entry.path().extension() == ".json" && entry.path().stem() != "schema")
      files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) {
    std::ifstream stream(file);
    found.push_back(rest_of(stream));
  }
  return found;
}

const std::vector<std::string> all_scenarios =
    std::filesystem::is_directory("scenarios") ? scenarios() : std::vector<std::string>{};

}  // namespace

const FuzzTarget runs_target{"runs", run_scenario, all_scenarios, mutated_tree};
const FuzzTarget training_target{"training", train_scenario, all_scenarios, mutated_tree};

}  // namespace gradrace
