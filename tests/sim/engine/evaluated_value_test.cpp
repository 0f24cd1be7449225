#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>

#include "tests/support/race_text.h"

namespace gradrace::evaluated_value_test {

namespace {

constexpr std::size_t learners = 3;
constexpr std::array<double, learners> lengths{1, 2, 4};  // of a minibatch

/// F(w) = w^2 / 2 in each of two dimensions, from w = 1, without noise; a step is w = .9 w.
RaceRecord raced(const std::string& evaluate, const std::string& stop = R"({"time": 40})",
                 const std::string& rest = "") {
  return run_training(point_from(
      R"({"cluster": {"learners": 3, "runtime": {"distribution": "deterministic", "value": 1},
                      "speeds": [1, 0.5, 0.25]},
          "protocol": {"kind": "local-sgd", "tau": 4},
          "model": {"kind": "quadratic", "dimensions": 2, "curvatures": [1], "noise": 0, "start": 1,
                    "precision": "float64"},
          "learning_rate": {"kind": "constant", "eta": 0.1}, "stop": )" +
      stop + R"(, "record": {"every_time": 1, "evaluate": ")" + evaluate + "\"}" + rest + "}"));
}

/// The learners' values at every unit of time: rounds of four steps take four of the slowest's.
std::array<double, learners> values_at(double time) {
  constexpr double round = 16;
  double start = 1;
  for (double begin = round; begin <= time; begin += round) start *= std::pow(0.9, 4);
  std::array<double, learners> values;
  for (std::size_t i = 0; i < learners; ++i) {
    const double steps = std::floor(std::fmod(time, round) / lengths[i]);
    values[i] = start * std::pow(0.9, std::fmin(4, steps));
  }
  return values;
}

double mean(const std::array<double, learners>& values) {
  return (values[0] + values[1] + values[2]) / 3;
}

double disagreement(const std::array<double, learners>& values) {
  double sum = 0;
  for (const double value : values) sum += 2 * std::pow(value - mean(values), 2);
  return sum / 3;
}

}  // namespace

TEST_CASE("evaluations: the mean of the learners' values, the first, or each, in a direct loop") {
  const RaceRecord of_mean = raced("mean"), first = raced("first"), each = raced("each");
  REQUIRE(of_mean.curve.size() == 41);
  REQUIRE(first.curve.size() == 41);
  REQUIRE(each.curve.size() == 41);
  REQUIRE(each.of_learners.size() == 41 * learners);
  CHECK(of_mean.of_learners.empty());
  CHECK(first.of_learners.empty());
  for (std::size_t i = 0; i < 41; ++i) {
    CAPTURE(i);
    const auto values = values_at(static_cast<double>(i));
    const double of_all = mean(values);
    CHECK(of_mean.curve[i].evaluation.loss == doctest::Approx(of_all * of_all).epsilon(1e-12));
    CHECK(first.curve[i].evaluation.loss == doctest::Approx(values[0] * values[0]).epsilon(1e-12));
    CHECK(each.curve[i].evaluation.loss == of_mean.curve[i].evaluation.loss);
    const double apart = of_mean.curve[i].evaluation.disagreement;
    CHECK(std::abs(apart - disagreement(values)) <= 1e-15);
    CHECK(first.curve[i].evaluation.disagreement == apart);
    CHECK(each.curve[i].evaluation.disagreement == apart);
    for (std::size_t learner = 0; learner < learners; ++learner) {
      const Evaluation& found = each.of_learners[i * learners + learner];
      CHECK(found.loss == doctest::Approx(values[learner] * values[learner]).epsilon(1e-12));
      CHECK(std::isnan(found.disagreement));
    }
  }
}

TEST_CASE("evaluations: the value that is looked at ends the run") {
  // At time 3 learner 0 is at .9^3, whose loss is .53; the mean at (.729 + .9 + 1) / 3, .77.
  const std::string stop = R"({"time": 40, "loss": 0.6})";
  CHECK(raced("first", stop).totals.time == 3);
  const double of_mean = raced("mean", stop).totals.time;
  CHECK(of_mean > 3);
  CHECK(raced("each", stop).totals.time == of_mean);
}

TEST_CASE("evaluations: a run whose every learner is looked at ends where its mean diverges") {
  const auto diverged = [](const std::string& evaluate) {
    return run_training(point_from(
        R"({"cluster": {"learners": 2, "runtime": {"distribution": "exponential", "mean": 1}},
            "protocol": {"kind": "local-sgd", "tau": 2},
            "model": {"kind": "quadratic", "noise": 1},
            "learning_rate": {"kind": "constant", "eta": 1000}, "stop": {"updates": 500},
            "record": {"every_updates": 3, "evaluate": ")" +
        evaluate + "\"}}"));
  };
  const RaceRecord each = diverged("each"), of_mean = diverged("mean");
  CHECK(each.status == Status::diverged);
  CHECK(each.totals.updates == of_mean.totals.updates);
  CHECK(each.curve.size() == of_mean.curve.size());
  CHECK(each.of_learners.size() == 2 * each.curve.size());
}

}  // namespace gradrace::evaluated_value_test
