#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/cli/scenario/scenario.h"
#include "sim/reading/json_text.h"
#include "tests/fuzz/target.h"

namespace gradrace {

namespace {

const char* const quickstart = R"({
  "name": "quick", "title": "Which one?", "seed": 3, "replicas": 2,
  "cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}, "speeds": [1, 2]},
  "model": {"kind": "softmax", "dataset": {"kind": "synthetic", "rows": 20, "test_rows": 10}, "minibatch": 4},
  "learning_rate": {"kind": "constant", "eta": 0.3}, "stop": {"time": 20, "updates": 50},
  "record": {"every_time": 1}, "targets": {"test_error": [0.15]},
  "sweep": {"protocol": [{"kind": "sync"}, {"kind": "k-async", "k": 2}], "zip": {"seed": [1, 2], "stop.time": [3, 4]}}
})";
const char* const peers = R"({
  "cluster": {"learners": 6, "runtimes": [{"distribution": "gamma", "shape": 4, "scale": 0.25},
    {"distribution": "mixture", "weights": [1, 2], "parts": [{"distribution": "uniform", "low": 1, "high": 2},
    {"distribution": "deterministic", "value": 2}]}], "network": {"topology": "mesh", "latency": 0.05, "bandwidth": 100},
    "windows": [{"start": 1, "length": 2, "factor": 3, "learners": [0]}]},
  "protocol": {"kind": "d-psgd", "graph": {"kind": "ring"}}, "stop": {"updates": 20}, "timing_only": true,
  "quick": {"stop.updates": 5}
})";

/// Every place is that of a value, and lies in the text.
void read_json(std::string_view bytes) {
  const ParsedJson parsed = parse_json(bytes, "fuzz");
  const auto lines = static_cast<std::uint32_t>(std::ranges::count(bytes, '\n')) + 1;
  for (const auto& [pointer, place] : parsed.places) {
    if (!parsed.root->contains(nlohmann::json::json_pointer(pointer)))
      unexpected("no value at " + pointer);
    if (place.line < 1 || place.line > lines || place.column < 1)
      unexpected("no place of " + pointer);
  }
}

void read_text(std::string_view bytes) {
  ScenarioChanges changes;
  changes.quick = bytes.size() % 2 == 0;
  changes.data_may_lack = true;
  const Scenario scenario = read_scenario_text(bytes, "fuzz.json", changes);
  if (scenario.points.empty()) unexpected("a scenario without points");
  if (!nlohmann::json::accept(scenario.resolved)) unexpected("a resolved scenario that is no JSON");
}

void run_json(std::string_view bytes) { allow_told_errors(read_json, bytes); }
void run_scenario(std::string_view bytes) { allow_told_errors(read_text, bytes); }

}  // namespace

const FuzzTarget json_target{
    "json", run_json, {quickstart, peers, "[1, -2.5e3, \"\\u00e9\", null, {\"a\": {\"b\": []}}]"}};
const FuzzTarget scenario_target{"scenario", run_scenario, {quickstart, peers}};

}  // namespace gradrace
