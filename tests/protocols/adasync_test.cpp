#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "models/make_device.h"
#include "sim/reading/problem.h"
#include "tests/support/adasync_rule.h"
#include "tests/support/race_text.h"

namespace gradrace::adasync_test {

TEST_CASE("adasync: K goes up where the root passes a half, solved by hand") {
  for (std::uint32_t k = 1; k < 8; ++k) {
    const double half = k + 0.5;
    const double quadratic = half * half / (8 - half) * (8 - 2) / 4;  // k0 = 2
    if (quadratic > 1) {
      CHECK(threshold(adasync(R"("variant": "k-async", "k0": 2)"), k) ==
            doctest::Approx(quadratic).epsilon(1e-9));
    }
    CHECK(threshold(adasync(R"("variant": "k-batch-async", "k0": 1)"), k) ==
          doctest::Approx(half * half).epsilon(1e-9));
  }
}

TEST_CASE("adasync: the numerical rule takes differences of the law's order statistics") {
  // A shift changes no difference, E[X_{K+1:P}] - E[X_{K:P}] = 1 / (P - K): K + 1 is better than K
  // from r C (1 / K - 1 / (K + 1)) = 1 / (P - K) on.
  for (const auto* runtime :
       {R"({"distribution": "exponential", "mean": 3})",
        R"({"distribution": "shifted-exponential", "shift": 1, "mean": 3})"}) {
    const auto make = adasync(R"("k0": 1, "rule": "numerical")", 8, runtime);
    const double at_1 = (1.0 / 7) / 1;  // one-sided: E[X_2] - E[X_1]
    for (std::uint32_t k = 1; k < 8; ++k) {
      CHECK(threshold(make, k) == doctest::Approx(k * (k + 1.0) / (8 - k) / at_1).epsilon(1e-6));
    }
  }
  // Where the law has a long tail the last learners cost more, and K stays lower.
  const auto pareto = adasync(R"("k0": 1, "rule": "numerical")", 8,
                              R"({"distribution": "pareto", "scale": 1, "shape": 2})");
  CHECK(threshold(pareto, 7) > threshold(adasync(R"("k0": 1, "rule": "numerical")"), 7));
}

TEST_CASE("adasync: the numerical rule begins at k0, or is refused") {
  // Nine of ten take 10: E[X_{K:8}] hardly rises but from K = 1 to 2.
  const auto* steps = R"({"distribution": "two-point", "low": 1, "high": 10, "probability": 0.9})";
  const std::string numerical = R"("rule": "numerical", "k0": )";
  CHECK_THROWS_WITH_AS(adasync(numerical + "4", 8, steps), doctest::Contains("before the loss"),
                       ScenarioError);
  const auto* constant = R"({"distribution": "deterministic", "value": 1})";
  CHECK(k_at(adasync(numerical + "8", 8, constant), 1) == 8);
  CHECK_THROWS_AS(adasync(numerical + "4", 8, constant), ScenarioError);
}

TEST_CASE("adasync: losses are taken as above the least loss") {
  const std::string batch = R"("variant": "k-batch-sync", "k0": 2, "least_loss": )";
  // From 1 to 1 / r, both above the least: 0.8 / (1 / r - 0.2) is 2.5^2 / 2^2.
  CHECK(threshold(adasync(batch + "0.2"), 2) ==
        doctest::Approx(1 / (0.2 + 0.8 * 4 / 6.25)).epsilon(1e-9));
  CHECK(k_at(adasync(batch + "0.2"), 1 / 0.3) == 6);
  CHECK(k_at(adasync(batch + "0"), 1 / 0.3) == 4);
  CHECK(k_at(adasync(batch + "0.2"), 1 / 0.2) == 8);
  CHECK(k_at(adasync(batch + "0.2"), 1 / 0.1) == 8);
}

TEST_CASE("adasync: a loss that rises lowers K unless it is monotone, both look every interval") {
  for (const bool monotone : {false, true}) {
    Idle server;
    const auto protocol = std::get<std::unique_ptr<ServerProtocol>>(
        adasync(R"("k0": 1, "monotone": )" + std::string(monotone ? "true" : "false"))());
    protocol->start(server);
    CHECK(server.next_evaluation == 0);
    for (int look = 0; const double loss : {1.0, 0.01, 0.5}) {
      protocol->on_evaluation(server, {.loss = loss});
      CHECK(server.next_evaluation == 5 * ++look);
    }
    protocol->on_gradient(server, {});
    CHECK(protocol->k() == (monotone ? 6 : 1));
  }
}

TEST_CASE("adasync: a new K takes effect at an update") {
  Idle server;
  const auto protocol = std::get<std::unique_ptr<ServerProtocol>>(adasync(R"("k0": 2)")());
  protocol->start(server);
  protocol->on_evaluation(server, {.loss = 1});
  protocol->on_evaluation(server, {.loss = 0.01});
  CHECK(protocol->k() == 2);
  protocol->on_gradient(server, {});
  CHECK(protocol->k() == 7);
}

namespace {

const std::string race_from_1 =
    R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
        "model": {"kind": "quadratic", "dimensions": 10, "noise": 0.2, "precision": "float64"},
        "learning_rate": {"kind": "constant", "eta": 0.005},
        "record": {"every_time": 7}, "stop": {"time": 300, "loss": 1e-9}, "protocol": )";

std::vector<CurvePoint> curve_of(const Point& point, std::uint32_t limit) {
  const Race race = point.race();
  const auto device = make_device(*point.model, {});
  return run_race({race, 0, limit}, device.get()).curve;
}

}  // namespace

TEST_CASE("adasync: the timing plane waits for the loss, and bits do not depend on segments") {
  for (const auto* variant : {"k-sync", "k-batch-sync", "k-async", "k-batch-async"}) {
    const Point point = point_from(
        race_from_1 + R"({"kind": "adasync", "interval": 5, "variant": ")" + variant + R"("}})");
    const auto whole = curve_of(point, 1'000'000), parts = curve_of(point, 1);
    REQUIRE(whole.size() == parts.size());
    std::set<std::uint32_t> seen;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      CHECK(whole[i].evaluation.loss == parts[i].evaluation.loss);
      CHECK(whole[i].point.time == parts[i].point.time);
      CHECK(whole[i].point.k == parts[i].point.k);
      seen.insert(whole[i].point.k);
    }
    CHECK(seen.size() >= 4);  // K did follow the loss
    CHECK(*seen.begin() == 1);
    CHECK(whole.back().evaluation.loss < 0.02 * whole.front().evaluation.loss);
  }
}

TEST_CASE("adasync: until K changes it is the protocol that it varies") {
  for (const std::string variant : {"k-sync", "k-batch-sync", "k-async", "k-batch-async"}) {
    CAPTURE(variant);
    const auto run = [](const std::string& protocol) {
      return run_training(point_from(race_from_1 + protocol + "}"));
    };
    const auto fixed = run(R"({"kind": ")" + variant + R"(", "k": 3})");
    const auto adapted =
        run(R"({"kind": "adasync", "variant": ")" + variant + R"(", "k0": 3, "interval": 1000})");
    CHECK(adapted.totals.updates == fixed.totals.updates);
    CHECK(adapted.totals.dispatched == fixed.totals.dispatched);
    CHECK(adapted.totals.cancelled == fixed.totals.cancelled);
    CHECK(adapted.totals.staleness_sum == fixed.totals.staleness_sum);
    CHECK(adapted.totals.last_update_time == fixed.totals.last_update_time);
  }
}

TEST_CASE("adasync: K of a run is the rule applied to the losses it was told") {
  const Point point =
      point_from(race_from_1 + R"({"kind": "adasync", "interval": 7, "variant": "k-sync"}})");
  const auto curve = curve_of(point, 4096);
  const auto make = adasync(R"("k0": 1)");
  std::size_t compared = 0;
  for (std::size_t i = 1; i + 1 < curve.size(); ++i) {
    // The K seen at one look was set by the look before, if an update has come since.
    if (curve[i + 1].point.update == curve[i].point.update) continue;
    const double r = curve[0].evaluation.loss / curve[i].evaluation.loss;
    CHECK(curve[i + 1].point.k == k_at(make, r));
    ++compared;
  }
  CHECK(compared > 30);
}

TEST_CASE("adasync: a diverged run ends where its losses led, records included") {
  Point point = point_from(
      R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
          "model": {"kind": "quadratic", "curvatures": [1]}, "stop": {"time": 100000},
          "learning_rate": {"kind": "constant", "eta": 2.3}, "record": {"every_updates": 400},
          "protocol": {"kind": "adasync", "interval": 3, "variant": "k-async", "k0": 8}})");
  const Race race = point.race();
  const auto device = make_device(*point.model, {});
  const RaceRecord record = run_race({race, 0, 64}, device.get());
  CHECK(record.status == Status::diverged);
  CHECK(record.totals.time == record.curve.back().point.time);
  CHECK(record.totals.updates == record.curve.back().point.update);
}

}  // namespace gradrace::adasync_test
