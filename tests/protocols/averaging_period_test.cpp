#include <doctest/doctest.h>

#include <algorithm>
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

TEST_CASE("local-sgd: tau may be a number of each learner, worked by hand") {
  // Learner 3 takes two units for a step.
  CHECK(timed("[1, 2, 5, 3]") == std::vector<double>{6, 12, 18, 24, 30, 36});
  CHECK(timed("[1, 2, 7, 3]") == std::vector<double>{7, 14, 21, 28, 35});
  CHECK(timed("[3, 3, 3, 3]") == timed("3"));
}

TEST_CASE("local-sgd: of a list of numbers an update is of those who make its step") {
  struct Made {
    double time;
    std::vector<std::uint32_t> learners;
    bool operator==(const Made&) const = default;
  };
  class Updates final : public Observer {
   public:
    void on_update(const UpdateFacts& update) override {
      made.push_back({update.time, {}});
      for (const auto& gradient : update.gradients)
        made.back().learners.push_back(gradient.learner);
      std::ranges::sort(made.back().learners);
    }
    std::vector<Made> made;
  };
  const auto updates = [](const std::string& tau) {
    Updates seen;
    run_timing(point_of(tau, R"("timing_only": true, "stop": {"updates": 6})").race(), 0, &seen);
    return seen.made;
  };
  CHECK(updates("[1, 3, 1, 1]") ==
        std::vector<Made>{
            {2, {0, 1, 2, 3}}, {2, {1}}, {3, {1}}, {5, {0, 1, 2, 3}}, {5, {1}}, {6, {1}}});
  // Learner 3, the last, has its steps at 2, 4, 6 ...
  CHECK(updates("[1, 1, 2, 2]") == std::vector<Made>{{2, {0, 1, 2, 3}},
                                                     {4, {2, 3}},
                                                     {6, {0, 1, 2, 3}},
                                                     {8, {2, 3}},
                                                     {10, {0, 1, 2, 3}},
                                                     {12, {2, 3}}});
  CHECK(updates("[2, 1, 1, 1]") ==
        std::vector<Made>{
            {2, {0, 1, 2, 3}}, {2, {0}}, {4, {0, 1, 2, 3}}, {4, {0}}, {6, {0, 1, 2, 3}}, {6, {0}}});
}

// With noise, curvature and rows that differ, so that every step counts.
TEST_CASE("local-sgd: steps of each learner are those of a loop written out") {
  const std::uint32_t taus[] = {1, 4, 2, 3}, rows[] = {3, 5, 2, 8};
  for (const std::string kind :
       {R"("kind": "quadratic", "dimensions": 5, "curvatures": [1, 0.3], "noise": 0.5, "start": 1)",
        R"("kind": "softmax", "dataset": {"kind": "synthetic", "rows": 100})"}) {
    CAPTURE(kind);
    const std::string model =
        "{" + kind + R"(, "minibatch": [3, 5, 2, 8], "precision": "float64"})";
    const Point point = point_of(
        "[1, 4, 2, 3]", R"("stop": {"updates": 40}, "record": {"every_updates": 4})", model);
    const auto device = make_device(*point.model, {});
    const auto curve = run_race({point.race()}, device.get()).curve;
    REQUIRE(curve.size() == 11);
    const auto written = point.model->make_float64();
    std::vector<double> mean(written->parameters()), g(mean.size());
    written->initialise(point.seed, 0, mean);
    std::uint32_t draws[4] = {};
    for (std::size_t round = 1; round <= 10; ++round) {
      const std::vector<double> from = mean;
      std::ranges::fill(mean, 0.0);
      for (std::uint32_t learner = 0; learner < 4; ++learner) {
        std::vector<double> w = from;
        for (std::uint32_t step = 0; step < taus[learner]; ++step) {
          written->gradient(w, {point.seed, 0, learner, draws[learner]++, rows[learner]}, g);
          for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.1 * g[i];
        }
        for (std::size_t i = 0; i < w.size(); ++i) mean[i] += w[i] / 4;
      }
      const double* value = mean.data();
      Evaluation expected;
      written->evaluate({&value, 1}, {&expected, 1});
      CHECK(std::abs(curve[round].evaluation.loss - expected.loss) <= 1e-12 * expected.loss);
    }
  }
}

TEST_CASE("local-sgd: a list of equal numbers has the bits of their number") {
  const auto hash = [](const std::string& tau) {
    return run_training(point_of(tau, R"("stop": {"updates": 30})")).hash;
  };
  CHECK(hash("[3, 3, 3, 3]") == hash("3"));
  CHECK(hash("[3, 3, 3, 2]") != hash("3"));
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
  told("[]", "protocol.tau: must hold at least one number, got none");
  told("[4, 8]", "protocol.tau: has 2 numbers, and there are 4 learners (cluster.learners)");
  told("[4, 8, 0, 1]", "protocol.tau[2]: must be >= 1, got 0");
  told("[4, 8, 2.5, 1]", "protocol.tau: must be whole numbers");
  told("[4, 8, [0, 1], 1]", "protocol.tau[2]: expected a number, got [0,1]");
  told("[[0, 4], 8]", "protocol.tau[1]: expected a pair [from epoch, tau], got 8");
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
