#include "sim/cli/scenario/auto_device.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sim/cli/results/manifest.h"
#include "sim/cli/results/run_header.h"

namespace gradrace::auto_device_test {

using Json = nlohmann::ordered_json;

std::string gpu() { return ""; }
std::string none() { return "no CUDA device"; }

/// Of a network of 784 numbers, with those keys changed.
Scenario scenario_with(const Json& changes) {
  Json scenario = Json::parse(R"({
    "replicas": 128,
    "cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
    "model": {"kind": "mlp", "widths": [128],
              "dataset": {"kind": "synthetic", "rows": 20, "features": 784, "classes": 10}},
    "protocol": {"kind": "async"},
    "learning_rate": {"kind": "constant", "eta": 0.1},
    "stop": {"updates": 10}})");
  scenario.merge_patch(changes);
  return read_scenario_text(scenario.dump(), "test.json", {});
}

/// With a GPU.
Scenario settled(const Json& changes) {
  Scenario scenario = scenario_with(changes);
  settle_device(scenario, gpu);
  return scenario;
}

std::string header_of(const Scenario& scenario) {
  return RunHeader::of(scenario, {}, scenario.runs()).text();
}

const Json nothing = Json::object();

TEST_CASE("auto: many runs of a network go to the GPU, and are those of device cuda") {
  const Scenario open = settled(nothing), named = scenario_with({{"device", "cuda"}});
  CHECK(open.first().device == "cuda");
  CHECK(open.first().key == named.first().key);
  CHECK(open.first().key != scenario_with(nothing).first().key);
  CHECK(Json::parse(open.resolved) == Json::parse(named.resolved));
  CHECK(arithmetic_of(open) == "CUDA");
  CHECK(difference(header_of(open), header_of(named)).empty());
  CHECK(open.device_reason ==
        "auto, since such networks are faster on a GPU from 65 runs side by side on, and here are "
        "128");
  CHECK(RunHeader::from(header_of(open), "").device_reason == open.device_reason);
  RunFacts facts;
  facts.device_reason = open.device_reason;
  CHECK(Json::parse(manifest_text(open, facts))["device_reason"] == open.device_reason);
}

TEST_CASE("auto: without a GPU, and for what is faster on the CPU, nothing changes") {
  Scenario without = scenario_with(nothing);
  settle_device(without, none);
  const Scenario few = settled({{"replicas", 2}});
  const RunKey key = scenario_with({{"device", "cpu"}}).first().key;
  CHECK(without.first().key == key);
  CHECK(without.resolved == scenario_with(nothing).resolved);
  CHECK(few.first().key == key);
  CHECK(device_of(without) == "cpu");
  CHECK(device_of(few) == "cpu");
  CHECK(why_device(without, none) == "auto, since no CUDA device");
  CHECK(header_of(without) == header_of(scenario_with(nothing)));
  CHECK(!Json::parse(manifest_text(without, {})).contains("device_reason"));
  CHECK(why_device(few, gpu) ==
        "auto, since such networks are faster on a GPU from 65 runs side by side on, and here are "
        "2");
}

TEST_CASE("auto: where a device is named or nothing is trained nobody looks for a GPU") {
  bool looked = false;
  const NoGpu look = [&] { return looked = true, none(); };
  for (const Json& changes :
       {Json{{"device", "cpu"}}, Json{{"device", "cuda"}}, Json{{"timing_only", true}}}) {
    Scenario scenario = scenario_with(changes);
    settle_device(scenario, look);
    CHECK(scenario.device_reason.empty());
    CHECK(why_device(scenario, look).empty());
  }
  CHECK(!looked);
}

TEST_CASE("auto: one point that needs the CPU has all computed there") {
  const auto why = [](const Json& changes) {
    const Scenario scenario = settled(changes);
    for (const Point& point : scenario.points) CHECK(point.device != "cuda");
    return scenario.device_reason;
  };
  CHECK(why({{"sweep", {{"protocol", {{{"kind", "async"}}, {{"kind", "all-reduce"}}}}}}}) ==
        "auto, since protocols without a server were not measured on a GPU");
  CHECK(why({{"model", {{"dataset", {{"partition", {{"kind", "iid"}}}}}}}}) ==
        "auto, since only the CPU draws each learner's rows of dataset.partition");
  CHECK(why({{"model", {{"precision", "float64"}}}}) ==
        "auto, since float64 was not measured on a GPU");
}

TEST_CASE("auto: the runs of all points that one device computes count together") {
  CHECK(settled({{"replicas", 20}, {"sweep", {{"cluster.learners", {1, 2, 3, 4, 5}}}}})
            .first()
            .device == "cuda");
  CHECK(settled({{"replicas", 20}, {"sweep", {{"model.widths", {{128}, {127}, {126}, {125}}}}}})
            .first()
            .device == "auto");
}

TEST_CASE("auto: runs of the CPU are not gone on with on a GPU without a word") {
  const std::string cpu = header_of(settled({{"replicas", 2}})), gpu = header_of(settled(nothing));
  CHECK(difference(cpu, gpu).ends_with(", here with \"CUDA\"; --device cpu goes on"));
  CHECK(difference(gpu, cpu).starts_with("computed with \"CUDA\", here with "));
  CHECK(difference(gpu, cpu).ends_with("; --device cuda goes on"));
}

}  // namespace gradrace::auto_device_test
