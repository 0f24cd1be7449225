#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/message_text.h"
#include "tests/claims/claim.h"
#include "tests/support/mean.h"
#include "tests/support/race_text.h"

namespace gradrace::async_local_sgd_claims {

namespace {

/// Of each replica, at the end.
std::vector<double> losses(const std::string& protocol) {
  const Point point = point_from(
      R"({"cluster": {"learners": 4, "speeds": [1, 0.8, 0.5, 0.25],
            "runtime": {"distribution": "lognormal", "mean": 1, "cv": 0.3}},
          "model": {"kind": "mlp", "widths": [16], "minibatch": 16,
            "dataset": {"kind": "synthetic", "rows": 2000, "features": 20, "classes": 5}},
          "optimiser": {"kind": "adamw"}, "learning_rate": {"kind": "constant", "eta": 0.002},
          "stop": {"gradients": 4000}, "protocol": )" +
      protocol + "}");
  std::vector<double> found;
  for (std::uint32_t replica = 0; replica < 20; ++replica)
    found.push_back(run_training(point, replica).curve.back().evaluation.loss);
  return found;
}

std::string async(double eta, const std::string& more = "") {
  return R"({"kind": "async-local-sgd", "tau": 20, "outer": {"momentum": 0.9, "eta": )" +
         number_text(eta) + more + "}}";
}

/// The mean of a - b in its standard errors, replica by replica, which share their draws.
double excess(const std::vector<double>& a, const std::vector<double>& b) {
  Mean difference;
  for (std::size_t i = 0; i < a.size(); ++i) difference.add(a[i] - b[i]);
  return difference.value() / difference.error();
}

constexpr const char* paper = "Liu et al., arXiv 2401.09135, tables of async DiLoCo";
const std::string set_up =
    "mlp of 16, adamw, 4 learners of speeds 1 to 0.25, tau 20, 4,000 gradients, seed 1, 20 "
    "replicas: final loss of ";

}  // namespace

// That delayed Nesterov with DyLU is DiLoCo within noise does not show here: its loss is higher by
// 4.6 %, +- 2.1 % (seed 1), and 6.0 % +- 1.7 % (seed 2); the one of async at its best by 10 %.
TEST_CASE(
    "async-local-sgd: steps of one learner at a time are worse than DiLoCo's, and momentum "
    "that waits is better") {
  const auto diloco = losses(
      R"({"kind": "local-sgd", "tau": 20, "outer": {"eta": 0.7, "momentum": 0.9, "nesterov": true}})");
  double least = 1e300;
  for (const double eta : {0.05, 0.07, 0.1, 0.14, 0.7})
    least = std::min(least, excess(losses(async(eta)), diloco));
  claim({"async-local-sgd.async-diloco", paper,
         set_up + "async DiLoCo less that of DiLoCo, in standard errors, the least of outer rates "
                  "0.05, 0.07, 0.1, 0.14, 0.7",
         no_less_than(4), least});
  claim({"async-local-sgd.async-delayed", paper,
         set_up + "async DiLoCo less that of delayed Nesterov, N = 4, in standard errors, both at "
                  "DiLoCo's outer rate 0.7",
         no_less_than(4), excess(losses(async(0.7)), losses(async(0.7, R"(, "period": 4)")))});
}

}  // namespace gradrace::async_local_sgd_claims
