#include "analysis/theory/stability.h"

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numbers>

namespace gradrace::stability_test {

namespace {

/// The largest modulus of a root of z^(tau+2) - (1 + b) z^(tau+1) + b z^tau + a z, the recursion's
/// characteristic polynomial times z, as the eigenvalues of its companion matrix.
double largest_root(int tau, double momentum, double step) {
  const int n = tau + 2;
  Eigen::MatrixXd companion = Eigen::MatrixXd::Zero(n, n);
  for (int i = 1; i < n; ++i) companion(i, i - 1) = 1;
  companion(n - 1, n - 1) += 1 + momentum;
  companion(tau, n - 1) -= momentum;
  companion(1, n - 1) -= step;
  return companion.eigenvalues().cwiseAbs().maxCoeff();
}

}  // namespace

TEST_CASE("stability: the limits of a constant delay, with and without momentum") {
  struct Row {
    int staleness;
    double plain, plain_digit, momentum, momentum_digit;
  };
  for (const Row& row : {Row{0, 2.0, .1, 3.80, .01},
                         {1, 1.0, .1, .100, .001},
                         {2, .618, .001, .0512, .0001},
                         {5, .285, .001, .0215, .0001},
                         {9, .165, .001, .0125, .0001},
                         {14, .108, .001, .0084, .0001},
                         {18, .085, .001, .0067, .0001},
                         {29, .053, .001, .0044, .0001},
                         {30, .0515, .0001, .0043, .0001}}) {
    CAPTURE(row.staleness);
    CHECK(std::abs(largest_stable_step(row.staleness, 0) - row.plain) <= row.plain_digit / 2);
    CHECK(std::abs(largest_stable_step(row.staleness, 0.9) - row.momentum) <=
          row.momentum_digit / 2);
  }
}

TEST_CASE("stability: without momentum the limit is 2 sin(pi / (2 (2 tau + 1)))") {
  for (int tau = 0; tau <= 1000; ++tau) {
    const double expected = 2 * std::sin(std::numbers::pi / (2 * (2 * tau + 1)));
    CHECK(largest_stable_step(tau, 0) == doctest::Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("stability: the largest root is inside the unit circle below the limit, outside above") {
  for (const int tau : {0, 1, 2, 3, 7, 20, 60}) {
    for (const double momentum : {0.0, 0.3, 0.9, 0.99}) {
      const double limit = largest_stable_step(tau, momentum);
      CAPTURE(tau);
      CAPTURE(momentum);
      for (const double share : {0.01, 0.3, 0.7, 0.999})
        CHECK(largest_root(tau, momentum, share * limit) < 1);
      for (const double share : {1.001, 1.5, 3.0})
        CHECK(largest_root(tau, momentum, share * limit) > 1);
    }
  }
}

}  // namespace gradrace::stability_test
