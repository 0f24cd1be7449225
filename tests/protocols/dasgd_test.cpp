#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/race_text.h"

namespace gradrace::dasgd_test {

namespace {

const std::string one = R"({"distribution": "deterministic", "value": 1})";

Point point_of(const std::string& protocol, const std::string& cluster, const std::string& model,
               int updates) {
  return point_from(R"({"cluster": {"learners": 4, "runtime": )" + cluster + R"(}, "protocol": )" +
                    protocol + R"(, "stop": {"updates": )" + std::to_string(updates) +
                    R"(}, "model": )" + model +
                    R"(, "learning_rate": {"kind": "constant", "eta": 0.1},
                    "optimiser": {"momentum": 0.5}, "record": {"every_updates": 1}})");
}

}  // namespace

TEST_CASE("dasgd: with delay 0 and xi 0 it is local-sgd, bit for bit, on any network") {
  const std::string softmax = R"({"kind": "softmax", "minibatch": 4,
                                  "dataset": {"kind": "synthetic", "rows": 100}})";
  for (const std::string network :
       {"", R"(, "network": {"topology": "mesh", "latency": 0.3, "bandwidth": 9,
                             "model_bytes": 5})"}) {
    const std::string cluster = R"({"distribution": "exponential", "mean": 1})" + network;
    const auto record = [&](const std::string& protocol) {
      return run_training(point_of(protocol, cluster, softmax, 50));
    };
    const RaceRecord local = record(R"({"kind": "local-sgd", "tau": 3})");
    const RaceRecord delayed = record(R"({"kind": "dasgd", "tau": 3, "delay": 0, "xi": 0})");
    CHECK(delayed.hash == local.hash);
    REQUIRE(delayed.curve.size() == local.curve.size());
    for (std::size_t i = 0; i < local.curve.size(); ++i) {
      CHECK(delayed.curve[i].point.time == local.curve[i].point.time);
      CHECK(delayed.curve[i].evaluation.loss == local.curve[i].evaluation.loss);
    }
    for (std::size_t i = 0; i < 4; ++i)
      CHECK(delayed.learners[i].exchanged.communicating ==
            local.learners[i].exchanged.communicating);
  }
}

// Without noise and momentum the learners agree: w = .9 w a step, and after `delay` steps of a
// round xi w + (1 - xi) times what w was at the end of the round before.
TEST_CASE("dasgd: an average of a round ago is taken in after the delay") {
  for (const int delay : {1, 2, 3}) {
    const RaceRecord record = run_training(point_from(
        R"({"cluster": {"learners": 3, "runtime": )" + one +
        R"(}, "protocol": {"kind": "dasgd", "tau": 3, "xi": 0.25, "delay": )" +
        std::to_string(delay) + R"(}, "stop": {"updates": 30}, "model": {"kind": "quadratic",
        "dimensions": 2, "curvatures": [1], "noise": 0, "start": 1, "precision": "float64"},
        "learning_rate": {"kind": "constant", "eta": 0.1}, "record": {"every_updates": 1}})"));
    double w = 1, average = 1;
    for (int update = 1; update <= 30; ++update) {
      const int step = (update - 1) % 3 + 1;
      w *= 0.9;
      if (step == delay && update > 3) w = 0.25 * w + 0.75 * average;
      if (step == 3) average = w;
      CHECK(record.curve[static_cast<std::size_t>(update)].evaluation.loss ==
            doctest::Approx(w * w).epsilon(1e-12));
    }
  }
}

// A round takes tau T_c + max(0, T_s - d T_c).
TEST_CASE("dasgd: steps of the delay hide the collective") {
  for (const double latency : {0.125, 0.25, 0.375, 0.5}) {  // times 6
    for (const int delay : {0, 1, 2, 3}) {
      const RaceRecord record = run_timing(
          point_from(R"({"cluster": {"learners": 4, "runtime": )" + one +
                     R"(, "network": {"topology": "mesh", "latency": )" + std::to_string(latency) +
                     R"(}}, "protocol": {"kind": "dasgd", "tau": 4,
                     "delay": )" +
                     std::to_string(delay) + R"(}, "stop": {"updates": 44}})")
              .race());
      const double rounds = 10, length = 6 * latency, late = std::max(0.0, length - delay);
      CHECK(record.totals.time == doctest::Approx(44 + rounds * late).epsilon(1e-12));
      CHECK(record.learners[0].exchanged.communicating ==
            doctest::Approx(rounds * late).epsilon(1e-12));
      CHECK(record.learners[0].exchanged.hidden ==
            doctest::Approx(rounds * std::min(length, delay + 0.0)).epsilon(1e-12));
    }
  }
}

}  // namespace gradrace::dasgd_test
