#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sim/cli/results/run_recorders.h"
#include "tests/support/compressors.h"
#include "tests/support/race_text.h"
#include "tests/support/schedule.h"
#include "tests/support/spool_text.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::all_reduce_test {

namespace {

Point point_of(const std::string& protocol, const std::string& cluster, const std::string& rest) {
  return point_from(R"({"cluster": )" + cluster + R"(, "protocol": )" + protocol +
                    R"(, "stop": {"updates": 60}, "learning_rate": {"kind": "constant", "eta": 0.1},
                    "record": {"every_updates": 1, "updates": true}, )" +
                    rest + "}");
}

struct Outcome {
  std::vector<double> curve;
  std::string updates;
  std::uint64_t hash;

  bool operator==(const Outcome&) const = default;
};

Outcome outcome(const Point& point) {
  const TemporaryFolder folder;
  SpoolFile spool_file(folder.path() / "spool");
  RunRecorders recorders(0, point, spool_file);
  const RaceRecord record = run_training(point, 0, recorders.observer());
  Outcome result{{}, text_of(recorders.rows().at("updates.csv")), record.hash};
  for (const auto& [at, found] : record.curve)
    result.curve.insert(result.curve.end(), {at.time, at.k + 0.0, at.epoch, found.loss});
  return result;
}

/// Four learners, each minibatch takes 1.
RaceRecord timed(const std::string& protocol, const std::string& network) {
  return run_timing(point_from(R"({"cluster": {"learners": 4, "runtime": {"distribution":
      "deterministic", "value": 1}, "network": )" +
                               network + R"(}, "protocol": )" + protocol +
                               R"(, "stop": {"updates": 10}})")
                        .race());
}

const std::string mesh =
    R"({"topology": "mesh", "latency": 0.01, "bandwidth": 100, "model_bytes": 8})";

}  // namespace

TEST_CASE("all-reduce: without a network it is sync, bit for bit") {
  const std::string cluster =
      R"({"learners": 5, "runtime": {"distribution": "exponential", "mean": 1}})";
  for (const std::string optimiser : {R"({"momentum": 0.9})", R"({"kind": "adam"})"}) {
    const std::string rest = R"("optimiser": )" + optimiser +
                             R"(, "model": {"kind": "softmax", "minibatch": 4,
                                "dataset": {"kind": "synthetic", "rows": 100}})";
    CHECK(outcome(point_of(R"({"kind": "all-reduce"})", cluster, rest)) ==
          outcome(point_of(R"({"kind": "sync"})", cluster, rest)));
  }
}

TEST_CASE("all-reduce: an iteration takes the longest minibatch and the ring") {
  const RaceRecord record = timed(R"({"kind": "all-reduce"})", mesh);
  CHECK(record.totals.time == doctest::Approx(10 * (1 + 6 * 0.01 + 1.5 * 0.08)).epsilon(1e-12));
  double sent = 0, received = 0;
  for (const LearnerTotals& learner : record.learners) {
    CHECK(learner.busy == doctest::Approx(10).epsilon(1e-12));
    CHECK(learner.exchanged.communicating == doctest::Approx(1.8).epsilon(1e-12));
    CHECK(learner.exchanged.waiting == 0);
    CHECK(learner.exchanged.messages == 60);
    sent += learner.exchanged.sent, received += learner.exchanged.received;
  }
  CHECK(sent == 10 * 4 * 12);
  CHECK(received == sent);
}

TEST_CASE(
    "all-reduce: a ring of messages takes their bytes, of gradients and of differences of models") {
  const auto timed_with_messages = [](const std::string& protocol) {
    const std::string cluster =
        R"({"learners": 4, "runtime": {"distribution": "deterministic", "value": 1}, "network": )" +
        mesh + "}";
    const Point point = point_from(R"({"cluster": )" + cluster + R"(, "protocol": )" + protocol +
                                   R"(, "stop": {"updates": 10}})");
    return run_timing(with_messages(point.race(), Halving(), {}));
  };
  const RunRecord record = timed_with_messages(R"({"kind": "all-reduce"})");
  CHECK(record.totals.time == doctest::Approx(10 * (1 + 6 * 0.01 + 1.5 * 0.04)).epsilon(1e-12));
  for (const LearnerTotals& learner : record.learners) CHECK(learner.exchanged.sent == 10 * 6);
  const RunRecord models = timed_with_messages(R"({"kind": "local-sgd", "tau": 1})");
  for (const LearnerTotals& learner : models.learners) CHECK(learner.exchanged.sent == 10 * 6);
}

// Parts are there at 1/3 + 2/3 b/B of a minibatch; each takes 0.06 + 0.12 / B on the wire.
TEST_CASE("all-reduce: parts of a gradient are exchanged while the rest is computed") {
  const RaceRecord two = timed(R"({"kind": "all-reduce", "buckets": 2})", mesh);
  CHECK(two.totals.time == doctest::Approx(10 * 1.12).epsilon(1e-12));
  CHECK(two.learners[3].exchanged.hidden == doctest::Approx(10 * 0.12).epsilon(1e-12));
  // Ready at .6, .8 and 1 with backward .6; .45 each on the wire: .6 + 3 x .45 = 1.95.
  const RaceRecord slow = timed(R"({"kind": "all-reduce", "buckets": 3, "backward": 0.6})",
                                R"({"topology": "mesh", "latency": 0.055, "bandwidth": 100,
                                   "model_bytes": 24})");
  CHECK(slow.totals.time == doctest::Approx(10 * 1.95).epsilon(1e-12));
  CHECK(slow.learners[0].exchanged.hidden == doctest::Approx(10 * 0.4).epsilon(1e-12));
  // Without a backward pass all are ready at 1: two of 0.12 follow.
  const RaceRecord late = timed(R"({"kind": "all-reduce", "buckets": 2, "backward": 0})", mesh);
  CHECK(late.totals.time == doctest::Approx(10 * 1.24).epsilon(1e-12));
}

TEST_CASE("all-reduce: accumulated, an update has m gradients of each learner at one value") {
  Race race = race_of(5, R"({"kind": "all-reduce", "accumulate": 3})", R"({"updates": 200})");
  race.plans[0].learning_rate = point_of(R"({"kind": "all-reduce"})", R"({"learners": 2,
      "runtime": {"distribution": "exponential", "mean": 1}})",
                                         R"("model": {"kind": "quadratic", "dimensions": 2})")
                                    .learning_rate;
  TimingPlane plane(race, 0, true, nullptr, 1'000'000);
  const Segment& segment = plane.next_segment();
  std::uint64_t updates = 0;
  for (const Op& op : segment.ops) {
    if (op.kind != Op::Kind::update) continue;
    ++updates;
    REQUIRE(op.count == 15);
    std::vector<std::uint32_t> of_learner(5);
    for (std::uint32_t i = op.first; i < op.first + op.count; ++i) {
      const Use& use = segment.uses[i];
      const Gradient& gradient = segment.gradients[use.gradient - segment.first_gradient];
      REQUIRE(use.weight == 0.1 / 15);
      REQUIRE(gradient.at == op.base);
      REQUIRE(gradient.draw == 3 * (updates - 1) + of_learner[gradient.learner]++);
    }
    REQUIRE(of_learner == std::vector<std::uint32_t>(5, 3));
  }
  CHECK(updates == 200);
}

TEST_CASE("all-reduce: accumulated, an iteration is the slowest's m minibatches and one exchange") {
  check_theory(R"({"kind": "all-reduce", "accumulate": 3})");
  const double once = timed(R"({"kind": "all-reduce"})", mesh).totals.time;
  const double thrice = timed(R"({"kind": "all-reduce", "accumulate": 3})", mesh).totals.time;
  CHECK(std::abs(thrice - once - 20) <= 1e-9);
}

}  // namespace gradrace::all_reduce_test
