#include <benchmark/benchmark.h>

#include <boost/random/exponential_distribution.hpp>

#include "sim/engine/event_queue.h"
#include "sim/random.h"

namespace gradrace {

namespace {

/// The hold model: take the earliest event, give its slot a new one an exponential time later.
void BM_EventQueue_Hold(benchmark::State& state) {
  const auto slots = static_cast<std::uint32_t>(state.range(0));
  Stream words = stream({1, 0, Purpose::runtime, 0, 0});
  std::vector<double> times(1024);
  for (double& time : times) time = boost::random::exponential_distribution<double>(1)(words);
  EventQueue queue(slots);
  std::size_t next = 0;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    queue.schedule(slot, times[next++ % times.size()], EventClass::arrival);
  }
  for (auto _ : state) {
    const auto event = queue.next();
    queue.schedule(event.slot, event.time + times[next++ % times.size()], EventClass::arrival);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_EventQueue_Hold)->Arg(8)->Arg(64)->Arg(1000)->Arg(100000)->Arg(1000000);

}  // namespace

}  // namespace gradrace
