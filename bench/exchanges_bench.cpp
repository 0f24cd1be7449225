#include <benchmark/benchmark.h>

#include <utility>
#include <vector>

#include "sim/engine/exchanges.h"

namespace gradrace {

namespace {

/// 1,000 learners in pairs that begin the next exchange, of other bytes, when one ends.
void hold(benchmark::State& state, const PeerNetwork& network) {
  const std::uint32_t learners = 1000, pairs = learners / 2;
  EventQueue queue(learners);
  Exchanges exchanges(&network, learners, queue, 0);
  std::vector<std::uint32_t> pair_of(learners);
  Transfer transfer;
  std::uint64_t turn = 0;
  const auto begin = [&](std::uint32_t pair, double now) {
    const double bytes = 1 + static_cast<double>(turn++ * 37 % 101) / 101;
    transfer = pair_transfer(network, pair, pair + pairs, bytes, std::move(transfer));
    pair_of[exchanges.begin(transfer, now)] = pair;
  };
  for (std::uint32_t pair = 0; pair < pairs; ++pair) begin(pair, 0);
  std::int64_t ended = 0;
  for (auto _ : state) {
    const auto event = queue.next();
    if (!exchanges.on_event(event.slot, event.time)) continue;
    begin(pair_of[event.slot], event.time);
    ++ended;
  }
  state.SetItemsProcessed(ended);
}

void BM_Exchanges_Mesh(benchmark::State& state) {
  PeerNetwork network;
  network.inside = {0.1, 1};
  hold(state, network);
}
BENCHMARK(BM_Exchanges_Mesh);

/// All of them pass cards that they share.
void BM_Exchanges_SharedCards(benchmark::State& state) {
  PeerNetwork network;
  network.per_node = static_cast<std::uint32_t>(state.range(0));
  network.between = {0.1, 1};
  hold(state, network);
}
BENCHMARK(BM_Exchanges_SharedCards)->Arg(1)->Arg(4)->Arg(16);

}  // namespace

}  // namespace gradrace
