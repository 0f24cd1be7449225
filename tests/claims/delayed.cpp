#include "tests/claims/delayed.h"

#include <vector>

#include "sim/message_text.h"
#include "tests/support/race_text.h"

namespace gradrace {

/// Half the sum of the squares of what a unit of noise leaves in w.
double delayed_floor(double eta, std::size_t delay, double momentum) {
  std::vector<double> w(200000, 0.0);
  double v = eta, sum = 0;
  w[0] = -v;
  for (std::size_t i = 1; i < w.size(); ++i) {
    sum += w[i - 1] * w[i - 1];
    v = momentum * v + (i > delay ? eta * w[i - 1 - delay] : 0);
    w[i] = w[i - 1] - v;
  }
  return sum / 2;
}

RaceRecord run_delayed(const Delayed& delayed, std::uint32_t replica) {
  return run_training(
      point_from(R"({"cluster": {"learners": )" + std::to_string(delayed.delay + 1) +
                 R"(, "runtime": {"distribution": "deterministic", "value": 1}},
          "protocol": {"kind": "async"},
          "model": {"kind": "quadratic", "precision": "float64", "dimensions": )" +
                 std::to_string(delayed.dimensions) + R"(, "start": )" +
                 number_text(delayed.start) + R"(, "noise": )" + number_text(delayed.noise) +
                 R"(}, "stop": {"updates": )" + std::to_string(delayed.updates) +
                 R"(}, "record": {"every_updates": )" + std::to_string(delayed.every_updates) +
                 R"(}, "optimiser": {"momentum": )" + number_text(delayed.momentum) +
                 R"(}, "learning_rate": {"kind": "constant", "eta": )" + number_text(delayed.eta) +
                 "}}"),
      replica);
}

}  // namespace gradrace
