#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/race_text.h"

namespace gradrace::rules_test {

namespace {

/// One learner, F = c w^2 / 2 in each of d dimensions from w = 1, c = 1, no noise: the components
/// of what is evaluated are all the same, after each update.
void check_path(const std::string& optimiser, const std::string& learning_rate, unsigned dimensions,
                const std::vector<double>& expected) {
  const Point point = point_from(
      R"({"cluster": {"learners": 1, "runtime": {"distribution": "exponential", "mean": 1}},
          "protocol": {"kind": "async"}, "record": {"every_updates": 1}, "optimiser": )" +
      optimiser + R"(, "learning_rate": )" + learning_rate +
      R"(, "model": {"kind": "quadratic", "noise": 0, "precision": "float64", "dimensions": )" +
      std::to_string(dimensions) + R"(}, "stop": {"updates": )" +
      std::to_string(expected.size() - 1) + "}}");
  const RaceRecord record = run_training(point);
  CAPTURE(optimiser);
  REQUIRE(record.curve.size() == expected.size());
  for (std::size_t j = 0; j < expected.size(); ++j) {
    const double loss = dimensions * 0.5 * expected[j] * expected[j];
    CHECK(std::abs(record.curve[j].evaluation.loss - loss) <= 1e-14 * dimensions);
  }
}

const char* const eta = R"({"kind": "constant", "eta": 0.1})";

}  // namespace

TEST_CASE(
    "optimiser: momentum without noise follows the recursion v' = 0.5 v + 0.1 w, w' = w - v'") {
  check_path(R"({"momentum": 0.5})", eta, 1, {1, 0.9, 0.76, 0.614, 0.4796});  // by hand
}

TEST_CASE("optimiser: ema evaluates a' = 0.5 a + 0.5 w' and trains on from w'") {
  check_path(R"({"ema": 0.5})", eta, 1, {1, 0.95, 0.88, 0.8045, 0.7303});  // w: 0.9^j
}

TEST_CASE("optimiser: clip shortens the whole gradient, not its components, and no shorter one") {
  // Four components: the gradient's norm is 2 w.  Down to w = 0.5 every step is 0.1 / 2.
  check_path(R"({"clip": 1})", eta, 4,
             {1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.405});
}

TEST_CASE("optimiser: rmsprop follows TensorFlow's recursion, also with momentum") {
  // g = w; s' = 0.8 s + 0.2 g^2 from 1; step = 0.1 g / sqrt(s' + 0.05); in decimals of 40 digits.
  const std::string rmsprop = R"("rmsprop": {"decay": 0.8, "epsilon": 0.05})";
  check_path(
      "{" + rmsprop + "}", eta, 1,
      {1, 0.90240999270514668, 0.81274409356553906, 0.72946368406493740, 0.65162949877874721});
  check_path(
      R"({"momentum": 0.5, )" + rmsprop + "}", eta, 1,
      {1, 0.90240999270514668, 0.76394908991811240, 0.61579805267701095, 0.47435100186226913});
  check_path(
      R"({"momentum": 0.5, "nesterov": true, )" + rmsprop + "}", eta, 1,
      {1, 0.85361498905772002, 0.70090110025520556, 0.55679075030274685, 0.42795901033917087});
}

TEST_CASE("optimiser: adam follows Algorithm 1 of Kingma and Ba, adamw decays beside it") {
  // g = w, beta1 = 0.5, beta2 = 0.75, epsilon = 0.125; the first two steps by hand: m^ = 1 and v^ =
  // 1; then m = 0.5 / 2 + w / 2 and v = 0.75 / 4 + w^2 / 4.
  const std::string keys = R"("beta1": 0.5, "beta2": 0.75, "epsilon": 0.125)";
  const double one = 1 - 0.1 / 1.125;
  const double m = (0.25 + one / 2) / 0.75, v = (0.1875 + one * one / 4) / 0.4375;
  check_path(R"({"kind": "adam", )" + keys + "}", eta, 1,
             {1, one, one - 0.1 * m / (std::sqrt(v) + 0.125)});
  check_path(R"({"kind": "adamw", "weight_decay": 2, )" + keys + "}", eta, 1, {1, one - 0.2});
}

TEST_CASE("optimiser: adam's first step is as long as the learning rate, however great g") {
  check_path(R"({"kind": "adam", "epsilon": 1e-30})", eta, 7, {1, 0.9});
  check_path(R"({"kind": "adam", "epsilon": 1e-30, "clip": 1e-6})", eta, 7, {1, 0.9});
}

TEST_CASE("optimiser: an update of no rate leaves adam's moments, and is not counted") {
  std::vector<double> expected{1, 1};
  double w = 1, m = 0, v = 0, t = 0;
  for (const double rate : {0.05, 0.1, 0.1}) {
    m = 0.9 * m + 0.1 * w, v = 0.999 * v + 0.001 * w * w, ++t;
    w -= rate * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    expected.push_back(w);
  }
  check_path(R"({"kind": "adam"})",
             R"({"kind": "constant", "eta": 0.1, "warm_up": {"length": 2, "unit": "gradients"}})",
             1, expected);
}

TEST_CASE("optimiser: rmsprop is left alone by an update of no rate, as a warm-up begins") {
  std::vector<double> expected{1, 1};
  double w = 1, s = 1;
  for (const double rate : {0.05, 0.1, 0.1}) {
    s = 0.9 * s + 0.1 * w * w;
    w -= rate * w / std::sqrt(s + 1e-8);
    expected.push_back(w);
  }
  check_path(R"({"rmsprop": {}})",
             R"({"kind": "constant", "eta": 0.1, "warm_up": {"length": 2, "unit": "gradients"}})",
             1, expected);
}

}  // namespace gradrace::rules_test
