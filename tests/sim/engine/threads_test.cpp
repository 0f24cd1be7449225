#include <doctest/doctest.h>

#include <cmath>
#include <thread>

#include "models/cpu/cpu_device.h"
#include "models/quadratic.h"
#include "sim/engine/run.h"
#include "sim/random.h"
#include "tests/support/stub_law.h"

namespace gradrace::threads_test {

namespace {

constexpr std::uint32_t replicas = 9;

class Exponential final : public StubLaw {
 public:
  double sample(Stream& words) const override { return -std::log((words() + 0.5) * 0x1p-32); }
};

class Constant final : public LearningRate {
 public:
  double eta(const Work&, std::uint32_t staleness, std::uint32_t gradients) const override {
    return 0.1 / (1 + staleness) / gradients;
  }
};

/// 2-async with what is stale by more than 3 dropped: dispatches, updates and drops.
class TwoAsync final : public ServerProtocol {
 public:
  void on_gradient(Server& server, const GradientFacts& arrival) override {
    if (server.version() - arrival.version > 3) {
      server.drop(arrival);
      return server.dispatch(arrival.learner);
    }
    server.accept(arrival);
    if (server.accepted() < k()) return;
    server.update();
    server.dispatch_waiting();
  }
  std::uint32_t k() const override { return 2; }
};

Race race() {
  Race race;
  race.learners = 6;
  race.runtime = std::make_shared<Exponential>();
  race.make_protocol = [] { return std::make_unique<TwoAsync>(); };
  race.plans[0].learning_rate = std::make_shared<Constant>();
  race.stop.updates = 200;
  race.evaluations.every_updates = 20;
  return race;
}

/// Hashes of the final parameters, in runs that each thread takes in turn, segment by segment.
std::vector<std::uint64_t> hashes(const Race& race, std::uint32_t threads) {
  std::vector<std::uint64_t> hashes(replicas);
  const auto work = [&](std::uint32_t first) {
    const auto device = make_cpu_device<double>(
        make_quadratic<double>({.dimensions = 40, .curvatures = {1, 2, 0.5}, .minibatch = 2}));
    for (std::uint32_t replica = first; replica < replicas; replica += threads) {
      std::vector<Run> runs;
      runs.emplace_back(race, replica, true, nullptr, nullptr, 50u);
      drive(runs, device.get(), [] { return true; });
      const RunRecord record = runs.front().record();
      hashes[replica] = record.status == Status::finished ? record.hash : 0;
    }
  };
  std::vector<std::jthread> workers;
  for (std::uint32_t i = 0; i < threads; ++i) workers.emplace_back(work, i);
  workers.clear();
  return hashes;
}

}  // namespace

TEST_CASE("threads: runs of one race on three threads have the bits of one") {
  const Race shared = race();
  const auto alone = hashes(shared, 1);
  CHECK(hashes(shared, 3) == alone);
  for (const auto hash : alone) CHECK(hash != 0);
  CHECK(alone[0] != alone[1]);
}

}  // namespace gradrace::threads_test
