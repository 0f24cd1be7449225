#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "tests/race_text.h"

using namespace gradrace;

namespace {

/// Takes every order and does nothing; remembers when the next evaluation is wanted.
class Idle : public Server {
 public:
  std::uint32_t learners() const override { return 8; }
  std::uint32_t version() const override { return 0; }
  std::uint32_t accepted() const override { return 1u << 20; }  // enough for any K
  double time() const override { return 0; }
  const Work& work() const override { return work_; }
  void dispatch(std::uint32_t) override {}
  void dispatch_waiting() override {}
  void accept(const Arrival&) override {}
  void drop(const Arrival&) override {}
  void cancel_all() override {}
  void update() override {}
  void evaluate_at(double time) override { next_evaluation = time; }
  void follow(std::uint16_t) override {}

  double next_evaluation = -1;

 private:
  Work work_;
};

MakeProtocol adasync(const std::string& keys, std::uint32_t learners = 8,
                     const std::string& runtime = R"({"distribution": "exponential", "mean": 1})") {
  return race_of(learners, R"({"kind": "adasync", "interval": 5, )" + keys + "}",
                 R"({"updates": 1})", runtime)
      .make_protocol;
}

/// K in force after an update that follows the loss 1 / r; the first loss is 1.
std::uint32_t k_at(const MakeProtocol& make, double r) {
  Idle server;
  const auto protocol = make();
  protocol->start(server);
  protocol->on_evaluation(server, {.loss = 1});
  protocol->on_evaluation(server, {.loss = 1 / r});
  protocol->on_gradient(server, {0, 0, 0});
  return protocol->k();
}

/// The r at which K is half way between `k` and `k + 1`, found from k_at alone.
double threshold(const MakeProtocol& make, std::uint32_t k) {
  double low = 1, high = 1e6;
  for (int i = 0; i < 100; ++i) {
    const double middle = std::sqrt(low * high);
    (k_at(make, middle) <= k ? low : high) = middle;
  }
  return low;
}

}  // namespace

TEST_CASE("adasync: the closed rules give the K of the lookup table, rounded") {
  // K* of dutta's rule, P = 8: the positive root of K^2 + q K - q P, q = r k0^2 / (P - k0).
  const std::map<double, double> from_1{{2, 1.38},  {4, 1.87},  {9, 2.63},   {16, 3.28},
                                        {25, 3.85}, {50, 4.79}, {100, 5.71}, {1000, 7.60}};
  const std::map<double, double> from_2{{4, 3.47}, {16, 5.33}, {100, 7.22}};
  const std::map<double, double> root_from_1{{4, 2}, {9, 3}, {16, 4}, {64, 8}};
  for (const auto* variant : {"k-sync", "k-async"}) {
    const std::string keys = R"("variant": ")" + std::string(variant) + R"(", "k0": )";
    for (const auto& [r, k] : from_1) CHECK(k_at(adasync(keys + "1"), r) == std::lround(k));
    for (const auto& [r, k] : from_2) CHECK(k_at(adasync(keys + "2"), r) == std::lround(k));
  }
  for (const auto* variant : {"k-batch-sync", "k-batch-async"}) {
    const auto make = adasync(R"("variant": ")" + std::string(variant) + R"(", "k0": 1)");
    for (const auto& [r, k] : root_from_1) CHECK(k_at(make, r) == std::lround(k));
    CHECK(k_at(make, 1e9) == 8);
  }
}

TEST_CASE("adasync: K = k0 at r = 1, and the quadratic rule is below P before rounding") {
  for (std::uint32_t k0 = 1; k0 <= 8; ++k0) {
    for (const auto* variant : {"k-sync", "k-batch-sync", "k-async", "k-batch-async"}) {
      const auto make =
          adasync(R"("variant": ")" + std::string(variant) + R"(", "k0": )" + std::to_string(k0));
      CHECK(k_at(make, 1) == k0);
    }
  }
  // K* = (sqrt(q^2 + 4 q P) - q) / 2 = 2 P / (1 + sqrt(1 + 4 P / q)) < P for every q.
  for (const double q : {1e-3, 1.0, 1e3, 1e6}) {
    CHECK(2 * 8 / (1 + std::sqrt(1 + 4 * 8 / q)) < 8);
  }
  CHECK(k_at(adasync(R"("k0": 1)"), 1e9) == 8);
}

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
  // 1 + exp(1): a shift changes no difference, E[X_{K+1:P}] - E[X_{K:P}] = 1 / (P - K).
  for (const auto* runtime :
       {R"({"distribution": "exponential", "mean": 3})",
        R"({"distribution": "shifted-exponential", "shift": 1, "mean": 3})"}) {
    const auto make = adasync(R"("k0": 1, "rule": "numerical")", 8, runtime);
    const double at_1 = (1.0 / 7) / 1;  // one-sided: E[X_2] - E[X_1]
    for (std::uint32_t k = 1; k < 8; ++k) {
      const double half = k + 0.5;
      CHECK(threshold(make, k) == doctest::Approx(half * half / (8 - k) / at_1).epsilon(1e-6));
    }
  }
  // Where the law has a long tail the last learners cost more, and K stays lower.
  const auto pareto = adasync(R"("k0": 1, "rule": "numerical")", 8,
                              R"({"distribution": "pareto", "scale": 1, "shape": 2})");
  CHECK(threshold(pareto, 7) > threshold(adasync(R"("k0": 1, "rule": "numerical")"), 7));
}

TEST_CASE("adasync: a loss that rises lowers K unless it is monotone, both look every interval") {
  for (const bool monotone : {false, true}) {
    Idle server;
    const auto protocol =
        adasync(R"("k0": 1, "monotone": )" + std::string(monotone ? "true" : "false"))();
    protocol->start(server);
    CHECK(server.next_evaluation == 0);
    for (int look = 0; const double loss : {1.0, 0.01, 0.5}) {
      protocol->on_evaluation(server, {.loss = loss});
      CHECK(server.next_evaluation == 5 * ++look);
    }
    protocol->on_gradient(server, {0, 0, 0});
    CHECK(protocol->k() == (monotone ? 6 : 1));
  }
}

TEST_CASE("adasync: a new K takes effect at an update") {
  Idle server;
  const auto protocol = adasync(R"("k0": 2)")();
  protocol->start(server);
  protocol->on_evaluation(server, {.loss = 1});
  protocol->on_evaluation(server, {.loss = 0.01});
  CHECK(protocol->k() == 2);
  protocol->on_gradient(server, {0, 0, 0});
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
  const auto device = point.model->make_device({});
  Run run(race, 0, true, nullptr, limit);
  drive({&run, 1}, device.get(), [] { return true; });
  return run.record().curve;
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
  const auto device = point.model->make_device({});
  Run run(race, 0, true, nullptr, 64);
  drive({&run, 1}, device.get(), [] { return true; });
  const RunRecord record = run.record();
  CHECK(record.status == Status::diverged);
  CHECK(record.totals.time == record.curve.back().point.time);
  CHECK(record.totals.updates == record.curve.back().point.update);
}
