#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/race_text.h"

namespace gradrace::local_sgd_test {

namespace {

const std::string exponential = R"({"distribution": "exponential", "mean": 1})";
const std::string one = R"({"distribution": "deterministic", "value": 1})";
const std::string softmax = R"({"kind": "softmax", "minibatch": 4, "precision": "float64",
                                "dataset": {"kind": "synthetic", "rows": 100}})";
const std::string noisy = R"({"kind": "quadratic", "dimensions": 6, "curvatures": [1, 0.3],
                              "noise": 0.5, "start": 1, "precision": "float64"})";
// F(w) = w^2 / 2 in each of its dimensions, without noise.
const std::string still = R"({"kind": "quadratic", "dimensions": 2, "curvatures": [1], "noise": 0,
                              "start": 1, "precision": "float64"})";

RaceRecord trained(const std::string& protocol, const std::string& runtime,
                   const std::string& model, const std::string& every, const std::string& rest = "",
                   int updates = 100) {
  return run_training(point_from(
      R"({"cluster": {"learners": 4, "runtime": )" + runtime + R"(}, "protocol": )" + protocol +
      R"(, "stop": {"updates": )" + std::to_string(updates) + R"(}, "model": )" + model +
      R"(, "learning_rate": {"kind": "constant", "eta": 0.1}, "record": {"every_updates": )" +
      every + "}" + rest + "}"));
}

std::vector<double> losses(const RaceRecord& record) {
  std::vector<double> result;
  for (const auto& [at, found] : record.curve) result.push_back(found.loss);
  return result;
}

void check_close(const RaceRecord& a, const RaceRecord& b, double tolerance) {
  const auto x = losses(a), y = losses(b);
  REQUIRE(x.size() == y.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    CHECK(std::abs(x[i] - y[i]) <= tolerance * std::abs(y[i]));
}

}  // namespace

TEST_CASE("local-sgd: with tau 1 it is all-reduce, to rounding") {
  for (const std::string momentum : {"0", "0.9"}) {
    const std::string rest = R"(, "optimiser": {"momentum": )" + momentum + "}";
    check_close(trained(R"({"kind": "local-sgd", "tau": 1})", exponential, softmax, "10", rest),
                trained(R"({"kind": "all-reduce"})", exponential, softmax, "10", rest), 1e-12);
  }
}

// With one Hessian and the same noise the mean of the learners does not see when it is taken.
TEST_CASE("local-sgd: on a quadratic the mean of the values follows sync for any tau") {
  const RaceRecord sync = trained(R"({"kind": "sync"})", one, noisy, "1");
  double before = 0;
  for (const std::string tau : {"1", "2", "5", "20"}) {
    const RaceRecord local =
        trained(R"({"kind": "local-sgd", "tau": )" + tau + "}", one, noisy, "1");
    check_close(local, sync, 1e-12);
    double disagreement = 0;
    for (const auto& [at, found] : local.curve) disagreement += found.disagreement;
    CHECK(disagreement > before);
    before = disagreement;
  }
}

// Without noise all learners go w -> (1 - eta)^tau w: the outer step is one of two numbers.
TEST_CASE("local-sgd: an outer step is its formula") {
  const double inner = std::pow(0.9, 3);
  for (const bool nesterov : {false, true}) {
    for (const std::string per_rate : {"false", "true"}) {
      const RaceRecord record = trained(
          R"({"kind": "local-sgd", "tau": 3, "outer": {"eta": 0.7, "momentum": 0.9, "nesterov": )" +
              std::string(nesterov ? "true" : "false") + R"(, "per_rate": )" + per_rate + "}}",
          one, still, "1", "", 61);
      double x = 1, v = 0;
      for (std::size_t round = 0; round < 20; ++round) {
        // One step into the round: what the outer step has left, times .9.
        CHECK(record.curve[3 * round + 1].evaluation.loss ==
              doctest::Approx(x * x * 0.81).epsilon(1e-12));
        const double delta = x - inner * x;
        v = 0.9 * v + delta;
        x -= 0.7 * (nesterov ? 0.9 * v + delta : v);
      }
    }
  }
}

TEST_CASE("local-sgd: an outer step of rate 1 without momentum is the average") {
  check_close(trained(R"({"kind": "local-sgd", "tau": 3, "outer": {}})", exponential, softmax, "9"),
              trained(R"({"kind": "local-sgd", "tau": 3})", exponential, softmax, "9"), 1e-12);
}

TEST_CASE("local-sgd: the optimiser's state is kept, reset or averaged") {
  const auto loss = [](const std::string& state, int updates) {
    return trained(R"({"kind": "local-sgd", "tau": 2, "momentum_state": ")" + state + R"("})", one,
                   still, "1", R"(, "optimiser": {"momentum": 0.5})", updates)
        .curve.back()
        .evaluation.loss;
  };
  // v = .5 v + g, w = w - .1 v, from w = 1: the learners agree, so kept is averaged.
  double w = 1, v = 0, from_rest = 1, v_from_rest = 0;
  for (int step = 0; step < 6; ++step) {
    if (step % 2 == 0) v_from_rest = 0;
    v = 0.5 * v + w, w -= 0.1 * v;
    v_from_rest = 0.5 * v_from_rest + from_rest, from_rest -= 0.1 * v_from_rest;
  }
  CHECK(loss("kept", 6) == doctest::Approx(w * w).epsilon(1e-12));
  CHECK(loss("averaged", 6) == doctest::Approx(w * w).epsilon(1e-12));
  CHECK(loss("reset", 6) == doctest::Approx(from_rest * from_rest).epsilon(1e-12));
}

// Agreeing learners have the mean of their states.
TEST_CASE("local-sgd: an outer step leaves the optimiser's state as it is said") {
  for (const bool nesterov : {false, true}) {
    for (const std::string state : {"kept", "averaged", "reset"}) {
      CAPTURE(state);
      CAPTURE(nesterov);
      const std::string outer =
          R"({"kind": "local-sgd", "tau": 2, "outer": {"eta": 0.7, "momentum": 0.9, "nesterov": )" +
          std::string(nesterov ? "true" : "false") + R"(}, "momentum_state": ")" + state + R"("})";
      const RaceRecord record =
          trained(outer, one, still, "1", R"(, "optimiser": {"momentum": 0.5})", 21);
      double x = 1, outer_v = 0, w = 1, v = 0;
      for (int step = 1; step <= 21; ++step) {
        v = 0.5 * v + w, w -= 0.1 * v;
        CHECK(losses(record)[static_cast<std::size_t>(step)] ==
              doctest::Approx(w * w).epsilon(1e-12));
        if (step % 2 == 1) continue;
        const double delta = x - w;
        outer_v = 0.9 * outer_v + delta;
        x -= 0.7 * (nesterov ? 0.9 * outer_v + delta : outer_v);
        w = x;
        if (state == "reset") v = 0;
      }
    }
  }
}

// A variance that is moved along the outer step becomes negative here, and the loss NaN.
TEST_CASE("local-sgd: an outer step leaves statistics of batch normalisation averaged") {
  const RaceRecord record = trained(
      R"({"kind": "local-sgd", "tau": 3, "outer": {"eta": 0.7, "momentum": 0.9, "nesterov": true}})",
      one, R"({"kind": "resnet", "depth": 8, "width": 2, "minibatch": 4,
               "dataset": {"kind": "synthetic", "rows": 64, "test_rows": 20, "features": 192,
                           "height": 8, "width": 8, "classes": 3}})",
      "1", "", 40);
  for (const double loss : losses(record)) REQUIRE(std::isfinite(loss));
}

// (1 + r) / (1 + r / tau) with r = T_s / T_c = 0.5.
TEST_CASE("local-sgd: a round takes tau minibatches and one collective") {
  const auto time = [](const std::string& tau) {
    return run_timing(point_from(R"({"cluster": {"learners": 4, "runtime": )" + one +
                                 R"(, "network": {"topology": "mesh", "latency": 0.03125,
                                    "bandwidth": 24, "model_bytes": 5}},
                                 "protocol": {"kind": "local-sgd", "tau": )" +
                                 tau + R"(}, "stop": {"updates": 81}})")
                          .race())
        .totals.time;
  };
  CHECK(time("1") == doctest::Approx(81 + 80 * 0.5).epsilon(1e-12));
  CHECK(time("4") == doctest::Approx(81 + 20 * 0.5).epsilon(1e-12));
}

// Minibatches of 1 and 2; part 1 of 2 is there at .75 of the second one, at 1.75 and 3.5.
TEST_CASE("local-sgd: parts of a value are exchanged while the last minibatches are computed") {
  const auto time = [](const std::string& bytes, const std::string& more = "") {
    return run_timing(point_from(R"({"cluster": {"learners": 2, "speeds": [1, 0.5], "runtime": )" +
                                 one + R"(, "network": {"topology": "mesh", "bandwidth": 100,
                                            "model_bytes": )" +
                                 bytes + R"(}}, "protocol": {"kind": "local-sgd", "tau": 2)" +
                                 more + R"(, "buckets": 2, "backward": 0.5},
                                 "stop": {"updates": 20}})")
                          .race())
        .totals.time;
  };
  CHECK(time("20") == doctest::Approx(9 * (4 + 0.1) + 4).epsilon(1e-12));
  CHECK(time("200") == doctest::Approx(9 * (3.5 + 2) + 4).epsilon(1e-12));
  const Point halves = point_from(R"({"cluster": {"learners": 2, "speeds": [1, 0.5],
      "runtime": )" + one + R"(, "network": {"topology": "mesh", "bandwidth": 100,
      "model_bytes": 200}}, "protocol": {"kind": "local-sgd", "tau": [4, 1], "buckets": 2,
      "backward": 0.5}, "stop": {"updates": 8}})");  // the second part at 4, after the first: 3.75
  CHECK(run_timing(halves.race()).totals.time == doctest::Approx(3.75 + 2 + 4).epsilon(1e-12));
  const std::string parts = R"({"kind": "local-sgd", "tau": 3, "outer": {"momentum": 0.5})";
  CHECK(losses(trained(parts + R"(, "buckets": 4})", exponential, softmax, "10")) ==
        losses(trained(parts + "}", exponential, softmax, "10")));
}

}  // namespace gradrace::local_sgd_test
