#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/make_device.h"
#include "sim/reading/problem.h"
#include "tests/support/race_text.h"
#include "tests/support/recorded_peers.h"

namespace gradrace::averaging_period_test {

namespace {

/// local-sgd of four learners, the last of which takes two units of time for a minibatch, the
/// others one.  20 samples a step of all; 100 are an epoch.
Point point_of(const std::string& tau, const std::string& rest, const std::string& model = "") {
  return point_from(R"({"cluster": {"learners": 4, "runtime": {"distribution": "deterministic",
      "value": 1}, "speeds": [1, 1, 1, 0.5]}, "protocol": {"kind": "local-sgd", "tau": )" +
                    tau + R"(}, "learning_rate": {"kind": "constant", "eta": 0.1}, "model": )" +
                    (model.empty() ? R"({"kind": "softmax", "minibatch": 5,
                        "dataset": {"kind": "synthetic", "rows": 100}})"
                                   : model) +
                    ", " + rest + "}");
}

std::vector<double> averages(const std::vector<PeerOrder>& orders) {
  std::vector<double> times;
  for (const PeerOrder& order : orders)
    if (order.kind == PeerOrder::Kind::average) times.push_back(order.time);
  return times;
}

std::vector<double> timed(const std::string& tau, const std::string& more = "") {
  std::vector<PeerOrder> orders;
  run_timing(recorded(point_of(tau, R"("timing_only": true, "stop": {"time": 40})" + more).race(),
                      orders));
  return averages(orders);
}

std::string complaints(const std::string& tau, const std::string& model = "") {
  try {
    point_of(tau, R"("stop": {"time": 40})", model);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("local-sgd: tau may follow the epochs, worked by hand") {
  // Rounds begin at 0, .2, .4, 1, 1.6, 2, 2.4 epochs.
  CHECK(timed("[[0, 1], [0.4, 3], [1.6, 2]]") ==
        std::vector<double>{2, 4, 10, 16, 20, 24, 28, 32, 36, 40});
  // The round under way at .5 goes on to .6.
  CHECK(timed("[[0, 3], [0.5, 5]]") == std::vector<double>{6, 16, 26, 36});
  // Messages of half a unit: a ring of four takes three units.
  std::vector<PeerOrder> orders;
  Race race =
      point_of("[[0, 1], [0.2, 2], [0.6, 4]]", R"("timing_only": true, "stop": {"time": 40})")
          .race();
  race.peers.emplace().inside.latency = 0.5;
  run_timing(recorded(race, orders));
  CHECK(averages(orders) == std::vector<double>{5, 12, 23, 34});
}

TEST_CASE("local-sgd: a list of one tau is that tau") { CHECK(timed("[[0, 3]]") == timed("3")); }

TEST_CASE("local-sgd: epochs count from the samples of all learners, with a model too") {
  std::vector<PeerOrder> orders;
  const Point point = point_of("[[0, 1], [0.4, 3], [1.6, 2]]", R"("stop": {"time": 40})");
  const Race race = recorded(point.race(), orders);
  const auto device = make_device(*point.model, {});
  Run run(race, 0, true, nullptr);
  drive({&run, 1}, device.get(), [] { return true; });
  CHECK(averages(orders) == timed("[[0, 1], [0.4, 3], [1.6, 2]]"));
}

// The rule, from the losses and rates of the curve; rounds are those of the slowest learner.
TEST_CASE("local-sgd: AdaComm's tau is its formula on the recorded losses") {
  const std::string still = R"({"kind": "quadratic", "dimensions": 2, "curvatures": [1],
                                "noise": 0, "start": 1, "precision": "float64"})";
  for (const std::string rate :
       {R"({"kind": "constant", "eta": 0.02})", R"({"kind": "constant", "eta": 0.0001})",
        R"({"kind": "step", "eta": 0.1, "factor": 0.5, "at": [20], "unit": "gradients"})"}) {
    CAPTURE(rate);
    constexpr double tau_0 = 9, interval = 15, end = 150;
    const Point point = point_from(
        R"({"cluster": {"learners": 4, "runtime": {"distribution": "deterministic", "value": 1},
            "speeds": [1, 1, 1, 0.5]}, "model": )" +
        still + R"(, "learning_rate": )" + rate + R"(, "stop": {"time": 150},
            "record": {"every_time": 15}, "protocol": {"kind": "local-sgd",
            "tau": {"adacomm": 9, "interval": 15}}})");
    std::vector<PeerOrder> orders;
    const Race race = recorded(point.race(), orders);
    const auto device = make_device(*point.model, {});
    const auto curve = run_race({race}, device.get()).curve;
    REQUIRE(curve.size() == 11);

    std::vector<double> expected, taus{tau_0};
    for (double time = 2 * tau_0; time <= end; time += 2 * taus.back()) {
      expected.push_back(time);
      const auto looks = static_cast<std::size_t>(std::ceil(time / interval));  // before it
      for (std::size_t look = taus.size(); look < looks; ++look) {
        const auto& [at, found] = curve[look];
        const double ratio = found.loss / curve[0].evaluation.loss;
        const double eta = curve[0].point.learning_rate / at.learning_rate;
        const double wanted = std::ceil(std::sqrt(ratio * eta) * tau_0);
        taus.push_back(wanted < taus.back() ? wanted : std::ceil(taus.back() / 2));
      }
    }
    CHECK(averages(orders) == expected);
    CHECK(taus.back() < tau_0);
  }
}

TEST_CASE("local-sgd: periods that cannot be are refused") {
  const auto told = [](const std::string& tau, const std::string& what) {
    CAPTURE(tau);
    const std::string found = complaints(tau);
    CAPTURE(found);
    CHECK(found.find(what) != std::string::npos);
  };
  told("0", "protocol.tau: must be >= 1, got 0");
  told("2.5", "protocol.tau: must be a whole number, got 2.5");
  told(R"("4")", "protocol.tau: expected a whole number");
  told("[]", "protocol.tau: needs at least one pair [from epoch, tau]");
  told("[4, 8]", "protocol.tau[0]: expected a pair [from epoch, tau], got 4");
  told("[[1, 4]]", "protocol.tau[0][0]: the first tau is that of the start");
  told("[[0, 4], [2, 8], [2, 16]]", "protocol.tau[2][0]: must be later than the epoch before it");
  told("[[0, 4], [2, 0]]", "protocol.tau[1][1]: must be >= 1, got 0");
  told("[[0, 1.5]]", "protocol.tau[0][1]: must be a whole number");
  told("[[-1, 1]]", "protocol.tau[0][0]: must be >= 0, got -1");
  told(R"({"adacomm": 4})", "protocol.tau.interval: required key is missing");
  told(R"({"adacomm": 0, "interval": 0})", "protocol.tau.interval: must be > 0, got 0");
  told(R"({"adacom": 4, "interval": 1})", "protocol.tau.adacom: unknown key");
  CHECK(complaints("[[0, 4]]", R"({"kind": "quadratic"})")
            .find("protocol.tau: counts epochs, and there is no training set") !=
        std::string::npos);
}

TEST_CASE("local-sgd: AdaComm needs the loss") {
  CHECK_THROWS_AS(
      point_of(R"({"adacomm": 4, "interval": 1})", R"("timing_only": true, "stop": {"time": 40})"),
      ScenarioError);
}

}  // namespace gradrace::averaging_period_test
