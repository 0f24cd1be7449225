#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tests/support/race_text.h"

namespace gradrace::learning_rates_test {

namespace {

Point point_with(const std::string& learning_rate, const std::string& stop,
                 const std::string& model) {
  return point_from(
      R"({"cluster": {"learners": 2, "runtime": {"distribution": "exponential", "mean": 1}},
    "model": )" +
      model + R"(, "protocol": {"kind": "async"}, "learning_rate": )" + learning_rate +
      R"(, "stop": )" + stop + "}");
}

std::string two_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", x);
  return text;
}

const char* const quadratic = R"({"kind": "quadratic"})";
const char* const softmax =
    R"({"kind": "softmax", "dataset": {"kind": "synthetic", "rows": 100}, "minibatch": 10})";

}  // namespace

TEST_CASE("constant: the same eta at any work and staleness") {
  const Point point =
      point_with(R"({"kind": "constant", "eta": 0.25})", R"({"updates": 1})", quadratic);
  CHECK(point.learning_rate->eta({}, 0, 1) == 0.25);
  CHECK(point.learning_rate->eta({1000, 32000, 3.5}, 17, 1) == 0.25);
}

TEST_CASE("step: decays at its marks in gradients, neither before nor after") {
  const Point point = point_with(
      R"({"kind": "step", "eta": 1, "factor": 0.5, "at": [20, 10], "unit": "gradients"})",
      R"({"updates": 1})", quadratic);
  const auto eta = [&](std::uint64_t gradients) {
    return point.learning_rate->eta({gradients, 0, 0}, 3, 1);
  };
  CHECK(eta(0) == 1);
  CHECK(eta(9) == 1);
  CHECK(eta(10) == 0.5);
  CHECK(eta(19) == 0.5);
  CHECK(eta(20) == 0.25);
}

TEST_CASE("step: marks in epochs and as fractions of the work that stop allows") {
  const Point epochs = point_with(R"({"kind": "step", "eta": 1, "factor": 0.1, "at": 1.5})",
                                  R"({"updates": 1})", softmax);
  CHECK(epochs.learning_rate->eta({0, 0, 1.49}, 0, 1) == 1);
  CHECK(epochs.learning_rate->eta({0, 0, 1.5}, 0, 1) == 0.1);
  const Point fraction =
      point_with(R"({"kind": "step", "eta": 1, "factor": 0.1, "at": [0.5], "unit": "fraction"})",
                 R"({"gradients": 200})", quadratic);
  CHECK(fraction.learning_rate->eta({99, 0, 0}, 0, 1) == 1);
  CHECK(fraction.learning_rate->eta({100, 0, 0}, 0, 1) == 0.1);
}

TEST_CASE("step: is indexed by work, so a run decays at the same gradient whatever its K") {
  for (const auto* protocol :
       {R"({"kind": "k-sync", "k": 4})", R"({"kind": "async"})", R"({"kind": "sync"})"}) {
    Race race = race_of(8, protocol, R"({"gradients": 1600})");
    race.plans[0].learning_rate =
        point_with(R"({"kind": "step", "eta": 1, "factor": 0.5, "at": [800], "unit": "gradients"})",
                   R"({"updates": 1})", quadratic)
            .learning_rate;
    TimingPlane plane(race, 0, true, nullptr, 1'000'000);
    const Segment& segment = plane.next_segment();
    std::uint64_t applied = 0;
    for (const Op& op : segment.ops) {
      if (op.kind != Op::Kind::update) continue;
      for (std::uint32_t i = op.first; i < op.first + op.count; ++i) {
        REQUIRE(segment.uses[i].weight == (applied < 800 ? 1.0 : 0.5) / op.count);
      }
      applied += op.count;
    }
    CHECK(applied == 1600);
  }
}

TEST_CASE("normalise: weights of an update sum to eta, in the proportions of staleness") {
  for (const auto* kind : {"staleness", "staleness-root"}) {
    Race race = race_of(8, R"({"kind": "k-batch-async", "k": 5})", R"({"updates": 300})");
    const std::string rate = R"({"kind": ")" + std::string(kind) + R"(", "eta": 0.5)";
    const auto plain = point_with(rate + "}", R"({"updates": 1})", quadratic).learning_rate;
    race.plans[0].learning_rate =
        point_with(rate + R"(, "normalise": true})", R"({"updates": 1})", quadratic).learning_rate;
    TimingPlane plane(race, 0, true, nullptr, 1'000'000);
    const Segment& segment = plane.next_segment();
    bool differ = false;
    for (const Op& op : segment.ops) {
      if (op.kind != Op::Kind::update) continue;
      double sum = 0, fresh = 0;
      for (std::uint32_t i = op.first; i < op.first + op.count; ++i) {
        const Use& use = segment.uses[i];
        sum += use.weight;
        fresh += use.weight / plain->eta({}, use.staleness, 5);
        differ = differ || use.staleness > 1;
      }
      REQUIRE(std::abs(sum - 0.5) <= 1e-15);
      for (std::uint32_t i = op.first; i < op.first + op.count; ++i) {
        const Use& use = segment.uses[i];
        REQUIRE(std::abs(use.weight / plain->eta({}, use.staleness, 5) - fresh / 5) <= 1e-14);
      }
    }
    CHECK(differ);
  }
}

TEST_CASE("inverse-sqrt: eta / sqrt(1 + n / after), in gradients and in epochs") {
  const Point gradients =
      point_with(R"({"kind": "inverse-sqrt", "eta": 0.5, "after": 100, "unit": "gradients"})",
                 R"({"updates": 1})", quadratic);
  const auto eta = [&](std::uint64_t n) { return gradients.learning_rate->eta({n, 0, 0}, 7, 1); };
  CHECK(eta(0) == 0.5);
  CHECK(eta(300) == 0.25);
  CHECK(std::abs(eta(100) - 0.5 / std::sqrt(2.0)) <= 1e-16);
  const Point epochs = point_with(R"({"kind": "inverse-sqrt", "eta": 1, "after": 0.5})",
                                  R"({"updates": 1})", softmax);
  CHECK(epochs.learning_rate->eta({0, 0, 1.5}, 0, 1) == 0.5);
}

TEST_CASE("staleness, staleness-exponential: the multipliers of a table, all of eta at tau = 0") {
  // tau, 1 / max(1, tau), rho = 0.95, 0.9, 0.8: to two digits.
  const double table[][5] = {{0, 1, 1, 1, 1},
                             {1, 1, .95, .90, .80},
                             {4, .25, .81, .66, .41},
                             {15, .067, .46, .21, .035},
                             {30, .033, .21, .042, .0012},
                             {100, .01, .0059, 2.7e-5, 2e-10}};
  const std::string rules[] = {R"({"kind": "staleness", "eta": 0.5})",
                               R"({"kind": "staleness-exponential", "eta": 0.5, "rho": 0.95})",
                               R"({"kind": "staleness-exponential", "eta": 0.5, "rho": 0.9})",
                               R"({"kind": "staleness-exponential", "eta": 0.5, "rho": 0.8})"};
  for (std::size_t rule = 0; rule < 4; ++rule) {
    const Point point = point_with(rules[rule], R"({"updates": 1})", quadratic);
    for (const auto& row : table) {
      const auto tau = static_cast<std::uint32_t>(row[0]);
      const double expected = row[1 + rule], measured = point.learning_rate->eta({}, tau, 1) / 0.5;
      CAPTURE(rules[rule]);
      CAPTURE(tau);
      CAPTURE(expected);
      CAPTURE(measured);
      CHECK(two_digits(measured) == two_digits(expected));
      if (tau == 0) CHECK(measured == 1);
    }
  }
  const Point point = point_with(rules[0], R"({"updates": 1})", quadratic);
  CHECK(point.learning_rate->eta({}, 7, 1) == 0.5 / 7);
  const Point root =
      point_with(R"({"kind": "staleness-root", "eta": 0.5})", R"({"updates": 1})", quadratic);
  for (const std::uint32_t tau : {0u, 3u, 8u, 99u})
    CHECK(root.learning_rate->eta({}, tau, 1) == 0.5 / std::sqrt(1.0 + tau));
}

TEST_CASE("staleness, staleness-exponential: lower the value of a schedule in place of eta") {
  const std::string schedule =
      R"("schedule": {"kind": "step", "eta": 1, "factor": 0.5, "at": [10], "unit": "gradients"})";
  const Point divided =
      point_with(R"({"kind": "staleness", )" + schedule + "}", R"({"updates": 1})", quadratic);
  CHECK(divided.learning_rate->eta({9, 0, 0}, 4, 1) == 0.25);
  CHECK(divided.learning_rate->eta({10, 0, 0}, 4, 1) == 0.125);
  const Point penalised = point_with(
      R"({"kind": "staleness-exponential", "rho": 0.25, "schedule": {"kind": "staleness", )" +
          schedule + "}}",
      R"({"updates": 1})", quadratic);
  CHECK(penalised.learning_rate->eta({10, 0, 0}, 2, 1) == 0.5 / 2 * 0.25 * 0.25);
}

TEST_CASE("staleness: each gradient of an update has the rate of its own staleness") {
  Race race = race_of(8, R"({"kind": "k-async", "k": 4})", R"({"updates": 500})");
  race.plans[0].learning_rate =
      point_with(R"({"kind": "staleness", "eta": 0.5})", R"({"updates": 1})", quadratic)
          .learning_rate;
  TimingPlane plane(race, 0, true, nullptr, 1'000'000);
  std::uint32_t stalest = 0;
  for (const Use& use : plane.next_segment().uses) {
    REQUIRE(use.weight == 0.5 / std::max(1u, use.staleness) / 4);
    stalest = std::max(stalest, use.staleness);
  }
  CHECK(stalest > 2);
}

TEST_CASE("scale: the rate of an update of K gradients is K or sqrt(K) times eta, of every kind") {
  const std::string rest[] = {
      R"("kind": "constant", "eta": 0.5)",
      R"("kind": "step", "eta": 0.5, "at": 100, "unit": "gradients")",
      R"("kind": "inverse-sqrt", "eta": 0.5, "after": 1, "unit": "gradients")",
      R"("kind": "staleness", "eta": 0.5)",
      R"("kind": "staleness-exponential", "eta": 0.5, "rho": 0.5)"};
  for (const auto& kind : rest) {
    const auto eta = [&](const std::string& scale, std::uint32_t gradients) {
      return point_with("{" + kind + scale + "}", R"({"updates": 1})", quadratic)
          .learning_rate->eta({}, 0, gradients);
    };
    CAPTURE(kind);
    CHECK(eta("", 9) == 0.5);
    CHECK(eta(R"(, "scale": "none")", 9) == 0.5);
    CHECK(eta(R"(, "scale": "linear")", 9) == 4.5);
    CHECK(eta(R"(, "scale": "sqrt")", 9) == 1.5);
    CHECK(eta(R"(, "scale": "linear")", 1) == 0.5);
  }
}

TEST_CASE("scale: linear undoes the average, so every gradient has the weight eta") {
  for (const auto* protocol : {R"({"kind": "k-sync", "k": 4})", R"({"kind": "k-async", "k": 3})"}) {
    Race race = race_of(8, protocol, R"({"updates": 100})");
    race.plans[0].learning_rate =
        point_with(R"({"kind": "constant", "eta": 0.5, "scale": "linear"})", R"({"updates": 1})",
                   quadratic)
            .learning_rate;
    TimingPlane plane(race, 0, true, nullptr, 1'000'000);
    for (const Use& use : plane.next_segment().uses) REQUIRE(use.weight == 0.5);
    CHECK(plane.evaluations().back().learning_rate == 0.5 * race.make_protocol()->k());
  }
}

TEST_CASE("warm_up: the rate rises in a straight line with the work, then is eta") {
  const auto eta = [](const std::string& warm_up, const char* model, const char* stop) {
    return [rate = point_with(R"({"kind": "constant", "eta": 2, "warm_up": )" + warm_up + "}", stop,
                              model)
                       .learning_rate](std::uint64_t gradients, double epochs) {
      return rate->eta({gradients, 0, epochs}, 5, 1);
    };
  };
  const auto gradients =
      eta(R"({"length": 200, "unit": "gradients"})", quadratic, R"({"time": 1})");
  CHECK(gradients(0, 0) == 0);
  CHECK(gradients(50, 0) == 0.5);
  CHECK(gradients(199, 0) == 1.99);
  CHECK(gradients(200, 0) == 2);
  CHECK(gradients(1000, 0) == 2);
  const auto epochs = eta(R"({"length": 4, "from": 0.5})", softmax, R"({"time": 1})");
  CHECK(epochs(0, 0) == 1);
  CHECK(epochs(0, 2) == 1.5);
  CHECK(epochs(0, 4) == 2);
  const auto fraction =
      eta(R"({"length": 0.25, "unit": "fraction"})", quadratic, R"({"gradients": 400})");
  CHECK(fraction(50, 0) == 1);
  CHECK(fraction(100, 0) == 2);
}

TEST_CASE("warm_up, scale: multiply each other and the rule, nested or not") {
  const Point point = point_with(
      R"({"kind": "staleness", "scale": "sqrt", "warm_up": {"length": 10, "unit": "gradients"},
          "schedule": {"kind": "constant", "eta": 3, "warm_up": {"length": 20, "unit": "gradients"}}})",
      R"({"updates": 1})", quadratic);
  CHECK(point.learning_rate->eta({5, 0, 0}, 2, 4) == 3 * 0.25 / 2 * 2 * 0.5);
}

TEST_CASE("warm_up: is indexed by work, so it ends at the same gradient whatever the K") {
  for (const auto* protocol : {R"({"kind": "k-sync", "k": 4})", R"({"kind": "async"})"}) {
    Race race = race_of(8, protocol, R"({"gradients": 1600})");
    race.plans[0].learning_rate =
        point_with(
            R"({"kind": "constant", "eta": 1, "warm_up": {"length": 800, "unit": "gradients"}})",
            R"({"updates": 1})", quadratic)
            .learning_rate;
    TimingPlane plane(race, 0, true, nullptr, 1'000'000);
    const Segment& segment = plane.next_segment();
    for (const Op& op : segment.ops) {
      if (op.kind != Op::Kind::update) continue;
      const double applied = op.first;  // each earlier use is one
      REQUIRE(segment.uses[op.first].weight == std::min(1.0, applied / 800) / op.count);
    }
  }
}

TEST_CASE("step, inverse-sqrt, warm_up: marks in samples applied") {
  const auto eta = [](const std::string& learning_rate) {
    return [rate = point_with(learning_rate, R"({"updates": 1})", quadratic).learning_rate](
               std::uint64_t samples) {
      return rate->eta({7, samples, 0.5}, 0, 1);
    };
  };
  const auto step = eta(R"({"kind": "step", "eta": 1, "at": 96, "unit": "samples"})");
  CHECK(step(95) == 1);
  CHECK(step(96) == 0.1);
  const auto root = eta(R"({"kind": "inverse-sqrt", "eta": 1, "after": 100, "unit": "samples"})");
  CHECK(root(300) == 0.5);
  const auto warm =
      eta(R"({"kind": "constant", "eta": 1, "warm_up": {"length": 200, "unit": "samples"}})");
  CHECK(warm(50) == 0.25);
}

TEST_CASE("distance: eta_max, and c / eta_max for the device, through every rule around it") {
  const std::string distance = R"({"kind": "distance", "c": 0.25, "eta_max": 2)";
  const Point plain = point_with(distance + "}", R"({"updates": 1})", quadratic);
  CHECK(plain.learning_rate->eta({}, 30, 1) == 2);
  CHECK(plain.learning_rate->distance() == 0.125);
  CHECK(plain.race().plans[0].rule.distance == 0.125);
  for (const auto& around :
       {distance + R"(, "scale": "sqrt"})",
        R"({"kind": "staleness", "schedule": )" + distance + "}}",
        R"({"kind": "staleness-exponential", "rho": 0.5, "schedule": )" + distance + "}}"}) {
    CAPTURE(around);
    CHECK(point_with(around, R"({"updates": 1})", quadratic).race().plans[0].rule.distance ==
          0.125);
  }
  const Point constant =
      point_with(R"({"kind": "staleness", "eta": 2})", R"({"updates": 1})", quadratic);
  CHECK(constant.race().plans[0].rule.distance == 0);
}

}  // namespace gradrace::learning_rates_test
