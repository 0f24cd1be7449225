#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/timing_plane.h"
#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

namespace gradrace::d_psgd_test {

namespace {

std::string d_psgd(const std::string& graph, const std::string& order = "adapt-first") {
  return R"({"kind": "d-psgd", "graph": ")" + graph + R"(", "order": ")" + order + "\"}";
}

/// Models of one byte.
PeerNetwork mesh_of(double latency, double bandwidth) {
  PeerNetwork network;
  network.inside = {latency, bandwidth};
  network.model_bytes = 1;
  return network;
}

const PeerNetwork mesh = mesh_of(1, 2);

/// Makes every value of a tape a number, moved by a known step, and takes down what an average of
/// each learner's n-th value is made of.
class Averages {
 public:
  explicit Averages(std::uint32_t learners) : learners_(learners), made_(learners, 0) {
    for (std::uint32_t learner = 0; learner < learners; ++learner) owner_[0] = {learner, 0};
  }

  void follow(const Segment& segment) {
    for (std::uint32_t i = 0; i < segment.gradients.size(); ++i)
      computed_by_[segment.first_gradient + i] = segment.gradients[i].learner;
    for (std::size_t i = 0; i < segment.ops.size(); ++i) {
      const Op& op = segment.ops[i];
      if (op.kind == Op::Kind::update) {
        const std::uint32_t learner = computed_by_.at(segment.uses[op.first].gradient);
        owner_[op.out] = {learner, ++made_[learner]};
        number_[op.out] = number_[op.base] + 1.5 + std::sin(1.0 + op.out);
      } else if (op.kind == Op::Kind::average && !is_evaluated(segment, i)) {
        average(op, segment);
      }
    }
  }

  /// Of steps in which all learners averaged; they must be there.
  void check_doubly_stochastic(std::size_t steps) const {
    REQUIRE(steps_.size() >= steps);
    for (const auto& [number, step] : steps_) {
      if (step.rows.size() < learners_) continue;
      const double rounding = 1e-15 * learners_;
      double before = 0, after = 0;
      for (const auto& [learner, row] : step.rows) CHECK(std::abs(row - 1) <= rounding);
      CHECK(step.columns.size() == learners_);
      for (const auto& [learner, column] : step.columns) CHECK(std::abs(column - 1) <= rounding);
      for (const auto& [learner, x] : step.before) before += x;
      for (const auto& [learner, x] : step.after) after += x;
      CHECK(std::abs(after - before) <= 1e-12 * std::abs(before));
      ++complete_;
    }
    CHECK(complete_ >= steps);
  }

 private:
  struct Step {
    std::map<std::uint32_t, double> rows, columns;  // [learner]: sum of weights
    std::map<std::uint32_t, double> before, after;  // [learner]: its number
  };

  /// The mean of all, that an evaluation looks at.
  static bool is_evaluated(const Segment& segment, std::size_t op) {
    return op + 1 < segment.ops.size() && segment.ops[op + 1].kind == Op::Kind::evaluate;
  }

  void average(const Op& op, const Segment& segment) {
    const auto [learner, step] = owner_.at(op.base);
    Step& of = steps_[step];
    std::uint32_t last = 0;
    for (std::uint32_t i = op.first; i < op.first + op.count; ++i) {
      const Term& term = segment.terms[i];
      const auto [other, step_of_other] = owner_.at(term.value);
      CHECK(step_of_other == step);  // its value of that step, not one that came later
      CHECK((i == op.first || other > last));
      last = other;
      of.rows[learner] += term.weight;
      of.columns[other] += term.weight;
      number_[op.out] += term.weight * number_[term.value];
    }
    of.before[learner] = number_[op.base];
    of.after[learner] = number_[op.out];
  }

  const std::uint32_t learners_;
  std::map<GradientId, std::uint32_t> computed_by_;
  std::vector<std::uint32_t> made_;                                   // [learner]: steps
  std::map<ValueId, std::pair<std::uint32_t, std::uint32_t>> owner_;  // learner, step
  std::map<ValueId, double> number_;
  std::map<std::uint32_t, Step> steps_;
  mutable std::size_t complete_ = 0;
};

/// What a run leaves, but for its name.
void check_equal(const RaceRecord& one, const RaceRecord& other) {
  CHECK(one.hash == other.hash);
  CHECK(one.totals.updates == other.totals.updates);
  CHECK(one.totals.time == other.totals.time);
  CHECK(one.totals.staleness_sum == other.totals.staleness_sum);
  REQUIRE(one.curve.size() == other.curve.size());
  for (std::size_t i = 0; i < one.curve.size(); ++i) {
    CHECK(one.curve[i].point.time == other.curve[i].point.time);
    CHECK(one.curve[i].point.update == other.curve[i].point.update);
    CHECK(one.curve[i].evaluation.loss == other.curve[i].evaluation.loss);
  }
}

RaceRecord trained(const std::string& protocol, const std::string& optimiser,
                   const std::string& stop) {
  return run_training(point_from(
      R"({"cluster": {"learners": 6, "runtime": {"distribution": "exponential", "mean": 1}},
      "model": {"kind": "quadratic", "noise": 1, "dimensions": 20}, "optimiser": )" +
      optimiser + R"(, "learning_rate": {"kind": "constant", "eta": 0.05},
      "record": {"every_updates": 7}, "stop": )" +
      stop + R"(, "protocol": )" + protocol + "}"));
}

}  // namespace

TEST_CASE("d-psgd: adapt-first on a ring of 4, by hand") {
  // A learner's exchange takes 2.  Learner 1 has its first neighbours at 3 and is a step ahead when
  // 0 and 2 average at 12.
  CHECK(schedule(d_psgd("ring"), 4, mesh, {1, 2, 3, 10, 1, 1, 1, 1, 9, 9, 9, 9}, 2) ==
        std::vector<std::string>{"0 dispatch 0@0", "0 dispatch 1@0", "0 dispatch 2@0",
                                 "0 dispatch 3@0",  //
                                 "1 arrive 0@0",    //
                                 "2 arrive 1@0",    //
                                 "3 arrive 2@0",    //
                                 "5 dispatch 1@2",  //
                                 "6 arrive 1@2",    //
                                 "10 arrive 3@0",   //
                                 "10 update 1: 0@0+0 1@0+0 2@0+0 3@0+0", "12 dispatch 0@2",
                                 "12 dispatch 2@2", "12 dispatch 3@2",  //
                                 "13 arrive 0@2", "13 arrive 2@2", "13 arrive 3@2",
                                 "13 update 2: 1@2+0 0@2+0 2@2+0 3@2+0"});
}

TEST_CASE("d-psgd: combine-first on a ring of 4, by hand") {
  // All exchange until 2; at ties the exchange that began first is first, and all that 1 hears had
  // come when 2 showed its value.  So 1 and 0 step at 2.  2 steps at 3, and only then the second
  // exchange of 1 begins, whose gradient comes at that time.  Those of 0, 2 and 3 begin when 3 has
  // stepped at 10.
  CHECK(schedule(d_psgd("ring", "combine-first"), 4, mesh, {1, 2, 3, 10, 1, 2, 1, 9, 1, 9, 9, 9},
                 2) == std::vector<std::string>{"0 dispatch 0@0",
                                                "0 dispatch 1@0",
                                                "0 dispatch 2@0",
                                                "0 dispatch 3@0",  //
                                                "1 arrive 0@0",    //
                                                "2 arrive 1@0",    //
                                                "2 dispatch 1@2",  //
                                                "2 dispatch 0@2",  //
                                                "3 arrive 2@0",    //
                                                "3 dispatch 2@2",  //
                                                "3 arrive 1@2",    //
                                                "4 arrive 0@2",    //
                                                "4 arrive 2@2",    //
                                                "5 dispatch 1@4",  //
                                                "10 arrive 3@0",   //
                                                "10 update 1: 1@0+1 0@0+1 2@0+1 3@0+1",
                                                "10 dispatch 3@2",  //
                                                "11 arrive 3@2",
                                                "12 dispatch 0@4",  //
                                                "12 dispatch 2@4",
                                                "12 update 2: 1@2+1 0@2+1 2@2+1 3@2+1",
                                                "12 dispatch 3@4"});
}

TEST_CASE("d-psgd: weights' rows and columns add to 1, the mean of a step's values stays") {
  for (const auto* graph : {"ring", "torus", "exponential", "complete"}) {
    for (const auto* order : {"adapt-first", "combine-first"}) {
      for (const std::uint32_t learners : {9u, 12u, 16u}) {
        CAPTURE(graph);
        CAPTURE(order);
        CAPTURE(learners);
        Race race = race_of(learners, d_psgd(graph, order), R"({"updates": 60})");
        race.peers = mesh_of(0.3, 4);
        race.plans.front().stateful = true;  // each average stands for itself
        TimingPlane plane(race, 0, true, nullptr, 50);
        Averages averages(learners);
        while (averages.follow(plane.next_segment()), plane.progress() < 1) continue;
        averages.check_doubly_stochastic(55);
      }
    }
  }
}

TEST_CASE("d-psgd: on the complete graph without network it is local-sgd with tau 1") {
  for (const auto* optimiser : {R"({"kind": "sgd"})", R"({"kind": "sgd", "momentum": 0.9})"}) {
    for (const auto* stop : {R"({"updates": 200})", R"({"time": 300})"}) {
      CAPTURE(optimiser);
      CAPTURE(stop);
      check_equal(trained(d_psgd("complete"), optimiser, stop),
                  trained(R"({"kind": "local-sgd", "tau": 1})", optimiser, stop));
    }
  }
}

TEST_CASE("d-psgd: staleness is 0 before the average, 1 where it comes between") {
  for (const auto* graph : {"ring", "torus", "exponential", "complete"}) {
    for (const auto& [order, staleness] : {std::pair{"adapt-first", 0u}, {"combine-first", 1u}}) {
      Race race = race_of(12, d_psgd(graph, order), R"({"updates": 500})");
      race.peers = mesh;
      const RaceRecord record = run_timing(race);
      CHECK(record.totals.max_staleness == staleness);
      CHECK(record.totals.staleness_sum == staleness * record.totals.applied);
    }
  }
}

TEST_CASE("d-psgd: bytes sent are bytes received, times add up to the clock") {
  for (const auto* order : {"adapt-first", "combine-first"}) {
    Race race = race_of(12, d_psgd("exponential", order), R"({"updates": 500})");
    race.peers = mesh;
    const RaceRecord record = run_timing(race);
    double sent = 0, received = 0, hidden = 0;
    for (const auto& learner : record.learners) {
      sent += learner.exchanged.sent, received += learner.exchanged.received;
      hidden += learner.exchanged.hidden;
      CHECK(learner.busy + learner.exchanged.waiting + learner.exchanged.communicating ==
            doctest::Approx(record.totals.time).epsilon(1e-12));
    }
    CHECK(sent == received);
    CHECK((hidden > 0) == (order == std::string("combine-first")));
  }
}

}  // namespace gradrace::d_psgd_test
