#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/make_device.h"
#include "tests/support/race_text.h"

// F(w_N) - F* <= alpha^N (F(w_0) - F*) + L eta^2 d / (8 P) sum_n alpha^(N-1-n) ||g_n||^2 / s_n^2 of
// Yan, Huang, Lan, Song, arXiv 2107.14575, on F(w) = ||w||^2 / 2, where alpha = (1 - eta)^2, L = 1
// and ||g_n||^2 = 2 F(w_n).
namespace gradrace::compression_bound_test {

namespace {

/// Mean over replicas of the loss after each update, and its standard error.
struct Losses {
  std::vector<double> mean, error;
};

Losses losses_of(const std::string& learners, const std::string& dimensions, double eta,
                 std::uint32_t updates, std::uint32_t replicas, const std::string& compression,
                 double noise = 0) {
  const Point point =
      point_from(R"({"cluster": {"learners": )" + learners +
                 R"(, "runtime": {"distribution": "deterministic", "value": 1}},
          "protocol": {"kind": "sync"}, "model": {"kind": "quadratic", "precision": "float64", "dimensions": )" +
                 dimensions + R"(, "noise": )" + std::to_string(noise) +
                 R"(}, "learning_rate": {"kind": "constant", "eta": )" + std::to_string(eta) +
                 R"(}, "stop": {"updates": )" + std::to_string(updates) +
                 R"(}, "record": {"every_updates": 1}, "compression": )" + compression + "}");
  const Race race = point.race();
  const auto device = make_device(*point.model, {});
  std::vector<double> sums(updates + 1), squares(updates + 1);
  for (std::uint32_t replica = 0; replica < replicas; ++replica) {
    const auto curve = run_race({race, replica}, device.get()).curve;
    REQUIRE(curve.size() == updates + 1);
    for (std::size_t n = 0; n <= updates; ++n) {
      const double loss = curve[n].evaluation.loss;
      sums[n] += loss, squares[n] += loss * loss;
    }
  }
  Losses losses;
  const double count = replicas;
  for (std::size_t n = 0; n <= updates; ++n) {
    const double mean = sums[n] / count;
    losses.mean.push_back(mean);
    losses.error.push_back(std::sqrt(std::fmax(0, squares[n] / count - mean * mean) / count));
  }
  return losses;
}

double alpha(double eta) { return (1 - eta) * (1 - eta); }

}  // namespace

// Each of 400 runs has 256 buckets of four equal numbers: 7 |v_i| / ||v|| = 3.5.
TEST_CASE("compression: a step from the middle of the grid is as far off as the bound allows") {
  const double eta = 0.5;
  const Losses losses =
      losses_of("1", "1024", eta, 1, 400, R"({"kind": "qsgd", "levels": 7, "bucket": 4})");
  const double start = losses.mean[0];
  const double bound = alpha(eta) * start + eta * eta * 4 / 8 * 2 * start / 49;
  CHECK(std::abs(losses.mean[1] - bound) < 3 * losses.error[1]);
  CHECK(losses.error[1] < 0.03 * (bound - alpha(eta) * start));
}

TEST_CASE("compression: runs are not above the bound") {
  const double eta = 0.2, learners = 4, d = 256;
  constexpr std::uint32_t updates = 30;
  for (const double s : {1.0, 3.0, 15.0}) {
    const Losses losses = losses_of(
        "4", "256", eta, updates, 200,
        R"({"kind": "qsgd", "bucket": "tensor", "levels": )" + std::to_string(int(s)) + "}");
    double quantised = 0;
    for (std::uint32_t n = 0; n < updates; ++n)
      quantised += std::pow(alpha(eta), updates - 1 - n) * 2 * losses.mean[n] / (s * s);
    quantised *= eta * eta * d / (8 * learners);
    const double whole = std::pow(alpha(eta), updates) * losses.mean[0];
    CAPTURE(s);
    CHECK(losses.mean[updates] - 2.33 * losses.error[updates] <= whole + quantised);
    CHECK(losses.mean[updates] > whole);
  }
}

// Numbers lie anywhere between two levels then: the mean of f (1 - f) is 1/6, not 1/4.  Noise of
// variance sigma^2 is part of the gradient, and E||g_n||^2 = 2 F(w_n) + sigma^2.
TEST_CASE("compression: where many levels are used the error is two thirds of the bound's") {
  const double eta = 0.2, d = 512, s = 31, variance = 512;
  constexpr std::uint32_t first = 20, updates = 140;
  const Losses losses =
      losses_of("1", "512", eta, updates, 150, R"({"kind": "qsgd", "levels": 31, "bucket": 512})",
                std::sqrt(variance));
  double ratios = 0;
  for (std::uint32_t n = first; n < updates; ++n) {
    const double added = (losses.mean[n + 1] - alpha(eta) * losses.mean[n]) / (eta * eta / 2);
    ratios += (added - variance) / (d / (4 * s * s) * (2 * losses.mean[n] + variance));
  }
  CHECK(ratios / (updates - first) == doctest::Approx(2.0 / 3).epsilon(0.05));
}

}  // namespace gradrace::compression_bound_test
