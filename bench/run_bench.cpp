#include <benchmark/benchmark.h>

#include <algorithm>

#include "models/make_device.h"
#include "tests/support/race_text.h"
#include "tests/support/recorded_peers.h"

namespace gradrace {

namespace {

std::string cluster(std::int64_t learners, const std::string& more = "") {
  return R"({"cluster": {"learners": )" + std::to_string(learners) +
         R"(, "runtime": {"distribution": "exponential", "mean": 1})" + more + "}, ";
}

/// A whole timing-only run; items are minibatches dispatched.
void BM_Run_TimingOnly(benchmark::State& state, const char* kind) {
  const bool has_k = std::string(kind).starts_with("k-");
  const std::string protocol = R"({"kind": ")" + std::string(kind) + '"' +
                               (has_k ? ", \"k\": " + std::to_string(state.range(0) / 2) : "") +
                               "}";
  const Race race = point_from(cluster(state.range(0)) + R"("protocol": )" + protocol +
                               R"(, "stop": {"gradients": 1000000}})")
                        .race();
  std::uint64_t dispatched = 0;
  for (auto _ : state) {
    Run run(race, 0, false, nullptr);
    drive({&run, 1}, nullptr, [] { return true; });
    dispatched += run.record().totals.dispatched;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(dispatched));
}
BENCHMARK_CAPTURE(BM_Run_TimingOnly, sync, "sync")
    ->Arg(8)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Run_TimingOnly, k_sync, "k-sync")
    ->Arg(8)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Run_TimingOnly, async, "async")
    ->Arg(8)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Run_TimingOnly, k_async, "k-async")
    ->Arg(8)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond);

/// Async where minibatches are more than independent draws of one law; beside it TimingOnly/async.
void BM_Run_OnCluster(benchmark::State& state, const char* more) {
  const Race race = point_from(cluster(state.range(0), more) +
                               R"("protocol": {"kind": "async"}, "stop": {"gradients": 1000000}})")
                        .race();
  for (auto _ : state) {
    Run run(race, 0, false, nullptr);
    drive({&run, 1}, nullptr, [] { return true; });
  }
  state.SetItemsProcessed(state.iterations() * 1000000);
}
BENCHMARK_CAPTURE(BM_Run_OnCluster, speeds, R"(, "speeds": [1, 2])")
    ->Arg(8)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Run_OnCluster, everything, R"(, "speeds": [1, 2],
    "persistence": {"kind": "ar1", "correlation": 0.9, "sd": 0.3},
    "outliers": {"probability_law": {"distribution": "gamma", "shape": 3.2, "scale": 0.0046},
                 "runtime": {"distribution": "pareto", "scale": 2, "shape": 2}},
    "windows": [{"start": 10, "length": 5, "factor": 3}])")
    ->Arg(8)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(BM_Run_OnCluster, transit, R"(, "network": {"bandwidth": 1e6, "model_bytes": 100,
    "push": {"distribution": "exponential", "mean": 0.1}},
    "server": {"per_gradient": 1e-4, "per_update": 1e-4},
    "failures": {"up": {"distribution": "exponential", "mean": 1000},
                 "down": {"distribution": "exponential", "mean": 10}})")
    ->Arg(8)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond);

/// A whole timing-only run of 1,000 learners on a mesh; items are exchanges.
void BM_Run_Peers(benchmark::State& state, const char* protocol) {
  const Race race =
      point_from(cluster(1000, R"(, "network": {"topology": "mesh", "latency": 0.1})") +
                 R"("protocol": )" + protocol + R"(, "stop": {"gradients": 300000}})")
          .race();
  std::vector<PeerOrder> orders;
  run_timing(recorded(race, orders));
  const auto exchanges = std::ranges::count_if(orders, [](const PeerOrder& order) {
    return order.kind == PeerOrder::Kind::begin || order.kind == PeerOrder::Kind::pair;
  });
  for (auto _ : state) run_timing(race);
  state.SetItemsProcessed(state.iterations() * exchanges);
}
BENCHMARK_CAPTURE(BM_Run_Peers, ad_psgd, R"({"kind": "ad-psgd", "graph": "bipartite-exponential"})")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Run_Peers, ad_psgd_in_turn,
                  R"({"kind": "ad-psgd", "graph": "bipartite-exponential", "overlap": false})")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Run_Peers, static, R"({"kind": "ripples", "schedule": "static"})")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Run_Peers, random, R"({"kind": "ripples", "schedule": "random"})")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Run_Peers, group_buffer, R"({"kind": "ripples", "schedule": "group-buffer"})")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Run_Peers, group_division,
                  R"({"kind": "ripples", "schedule": "group-division"})")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Run_Peers, group_division_filter,
                  R"({"kind": "ripples", "schedule": "group-division", "filter": 4})")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Run_Peers, partial_reduce, R"({"kind": "partial-reduce", "group": 3})")
    ->Unit(benchmark::kMillisecond);

/// A whole run with gradients: softmax of MNIST's size, minibatch 32, P = 8; items are gradients
/// applied.
void BM_Run_Softmax784x10(benchmark::State& state, const char* protocol) {
  const Point point = point_from(cluster(8) + R"("protocol": )" + protocol +
                                 R"(, "model": {"kind": "softmax", "minibatch": 32,
      "dataset": {"kind": "synthetic", "features": 784, "rows": 10000, "test_rows": 10}},
      "learning_rate": {"kind": "constant", "eta": 0.01}, "stop": {"gradients": 4000}, "record": {"train_rows": 100}})");
  const Race race = point.race();
  const auto device = make_device(*point.model, {point.device, point.rows});
  for (auto _ : state) {
    Run run(race, 0, true, nullptr);
    drive({&run, 1}, device.get(), [] { return true; });
  }
  state.SetItemsProcessed(state.iterations() * 4000);
}
BENCHMARK_CAPTURE(BM_Run_Softmax784x10, k_sync, R"({"kind": "k-sync", "k": 4})")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Run_Softmax784x10, k_async, R"({"kind": "k-async", "k": 4})")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Run_Softmax784x10, async, R"({"kind": "async"})")
    ->Unit(benchmark::kMillisecond);

}  // namespace

}  // namespace gradrace
