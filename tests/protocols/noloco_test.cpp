#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/quadratic.h"
#include "sim/message_text.h"
#include "tests/support/mean.h"
#include "tests/support/race_text.h"
#include "tests/support/recorded_peers.h"
#include "tests/support/schedule.h"

namespace gradrace::noloco_test {

namespace {

constexpr double eta = 0.7, beta = 0.5, rate = 0.05;

std::string noloco(double consensus) {
  return R"({"kind": "noloco", "tau": 3, "momentum": 0.5, "consensus": )" + number_text(consensus) +
         "}";
}

RaceRecord trained(const std::string& protocol, std::uint32_t learners, int updates, int every) {
  return run_training(point_from(
      R"({"cluster": {"learners": )" + std::to_string(learners) +
      R"(, "runtime": {"distribution": "deterministic", "value": 1}}, "protocol": )" + protocol +
      R"(, "model": {"kind": "quadratic", "dimensions": 3, "curvatures": [1, 0.3, 2],
          "noise": 0.5, "minibatch": 4, "precision": "float64"},
          "learning_rate": {"kind": "constant", "eta": 0.05}, "stop": {"updates": )" +
      std::to_string(updates) + R"(}, "record": {"every_updates": )" + std::to_string(every) +
      "}}"));
}

using Vector = std::vector<double>;

/// The formulas, round by round.
class Loop {
 public:
  Loop(std::uint32_t learners, double consensus) : consensus_(consensus), at_(learners) {
    QuadraticConfig config;
    config.dimensions = 3;
    config.curvatures = {1, 0.3, 2};
    config.noise = 0.5;
    config.minibatch = 4;
    model_ = make_quadratic<double>(config);
  }

  void step() {
    for (std::uint32_t i = 0; i < at_.size(); ++i) {
      Vector g(3);
      model_->gradient(at_[i].y, {1, 0, i, draws_, 4}, g);
      for (std::size_t k = 0; k < 3; ++k) at_[i].y[k] -= rate * g[k];
    }
    ++draws_;
  }

  void outer() {
    Stream random = stream({1, 0, Purpose::peers, 0, round_++});
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < at_.size(); ++i) order.push_back(i);
    for (auto left = static_cast<std::uint32_t>(at_.size()); left > 1; --left)
      std::swap(order[left - 1], order[uniform_below(random, left)]);
    for (std::size_t i = 0; i < order.size(); i += 2)
      move(order[i], order[i + 1 < order.size() ? i + 1 : i]);
  }

  double loss() const {
    Vector x(3);
    for (const auto& learner : at_)
      for (std::size_t k = 0; k < 3; ++k) x[k] += learner.y[k] / static_cast<double>(at_.size());
    return (x[0] * x[0] + 0.3 * x[1] * x[1] + 2 * x[2] * x[2]) / 2;
  }

 private:
  struct Learner {
    Vector y = {1, 1, 1}, phi = y, m = {0, 0, 0};
  };

  void move(std::uint32_t a, std::uint32_t b) {
    for (std::size_t k = 0; k < 3; ++k) {
      const double y = (at_[a].y[k] + at_[b].y[k]) / 2, phi = (at_[a].phi[k] + at_[b].phi[k]) / 2;
      for (const auto i : a == b ? Members{a} : Members{a, b}) {
        Learner& its = at_[i];
        its.m[k] = beta * its.m[k] + eta * (y - phi) + consensus_ * (phi - its.phi[k]);
        its.y[k] = its.phi[k] += its.m[k];
      }
    }
  }

  using Members = std::vector<std::uint32_t>;
  const double consensus_;
  std::vector<Learner> at_;
  std::unique_ptr<Model<double>> model_;
  std::uint32_t draws_ = 0, round_ = 0;
};

}  // namespace

TEST_CASE("noloco: a loop written out, for an even and an odd number of learners") {
  for (const std::uint32_t learners : {2u, 4u, 5u}) {
    for (const double consensus : {0.7, 0.2, 1.0}) {
      const int P = static_cast<int>(learners);
      const RaceRecord record = trained(noloco(consensus), learners, 60 * P, P);
      REQUIRE(record.curve.size() == 61);
      Loop loop(learners, consensus);
      for (std::size_t step = 1; step <= 60; ++step) {
        loop.step();
        const double loss = record.curve[step].evaluation.loss;
        CHECK(std::abs(loss - loop.loss()) <= 1e-12 * loop.loss());
        if (step % 3 == 0) loop.outer();
      }
    }
  }
}

// The terms with gamma cancel in the mean, and on a quadratic no more is asked of the others.
TEST_CASE("noloco: the mean moves as that of local-sgd with an outer step of momentum") {
  const RaceRecord outer = trained(
      R"({"kind": "local-sgd", "tau": 3, "outer": {"eta": 0.7, "momentum": 0.5}})", 4, 60, 3);
  double before = 1e300;
  for (const double consensus : {0.1, 0.5, 1.0}) {
    const RaceRecord record = trained(noloco(consensus), 4, 240, 12);
    REQUIRE(record.curve.size() == outer.curve.size());
    double disagreement = 0;
    for (std::size_t i = 0; i < record.curve.size(); ++i) {
      const double loss = outer.curve[i].evaluation.loss;
      CHECK(std::abs(record.curve[i].evaluation.loss - loss) <= 1e-12 * loss);
      disagreement += record.curve[i].evaluation.disagreement;
    }
    CHECK(disagreement < before);
    before = disagreement;
  }
}

// 1 is there at 3 and waits for 0 until 5; a message takes half a unit.
TEST_CASE("noloco: two learners by hand") {
  CHECK(orders(R"({"kind": "noloco", "tau": 2})", 2, {2, 1, 2, 3, 1, 1, 9, 9}, 6) ==
        std::vector<std::string>{"0 compute 0", "0 compute 1", "1 compute 1", "2 compute 0",
                                 "5 pair 0 1", "5.5 average 0", "5.5 average 1", "5.5 compute 0",
                                 "5.5 compute 1", "6.5 compute 0", "6.5 compute 1"});
}

TEST_CASE("noloco: a round takes no less than theory says") {
  for (const std::string sequence : {"1", "4"}) {
    const Race race =
        race_of(8, R"({"kind": "noloco", "tau": )" + sequence + "}", R"({"updates": 40000})");
    const Theory theory = theory_of(race);
    Mean time;
    for (std::uint32_t replica = 0; replica < 10; ++replica)
      time.add(run_timing(race, replica).totals.time / 40000);
    REQUIRE(theory.iteration_time);
    CHECK(theory.iteration_time->value < time.value());
    CHECK(theory.iteration_time->value > 0.75 * time.value());
  }
}

}  // namespace gradrace::noloco_test
