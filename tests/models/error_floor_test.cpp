#include <doctest/doctest.h>

#include <cmath>

#include "analysis/theory/error_curve.h"
#include "tests/support/mean.h"
#include "tests/support/race_text.h"
#include "tests/support/skip.h"

namespace gradrace::error_floor_test {

namespace {

/// F(w) = w^2 / 2, noise of variance 1 (c = L = m = sigma = 1), P = 8, exponential runtimes.
Point quadratic(const std::string& protocol, double eta, std::uint64_t updates, std::uint64_t every,
                double start) {
  return point_from(
      R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
    "model": {"kind": "quadratic", "noise": 1, "start": )" +
      std::to_string(start) + R"(, "precision": "float64"},
    "protocol": )" +
      protocol + R"(, "learning_rate": {"kind": "constant", "eta": )" + std::to_string(eta) +
      R"(}, "stop": {"updates": )" + std::to_string(updates) +
      R"(}, "record": {"every_updates": )" + std::to_string(every) + "}}");
}

/// Over replicas: mean loss over the evaluations after the first 5/eta updates.
Mean floor_of(const std::string& protocol, double eta, std::uint32_t replicas,
              std::uint64_t updates) {
  const Point point = quadratic(protocol, eta, updates, 10, 0);
  const std::size_t burn_in = static_cast<std::size_t>(5 / eta / 10) + 1;
  Mean floor;
  for (std::uint32_t replica = 0; replica < replicas; ++replica) {
    const auto curve = run_training(point, replica).curve;
    double sum = 0;
    for (std::size_t i = burn_in; i < curve.size(); ++i) sum += curve[i].evaluation.loss;
    floor.add(sum / static_cast<double>(curve.size() - burn_in));
  }
  return floor;
}

/// 4 standard errors, and one of them at most `error` of it; so many updates in all give such an
/// error.  In the short form half of them, and twice that error.
void check_floor(const std::string& protocol, double eta, double expected, double error) {
  const double share = is_long_form() ? 1 : 2;
  const auto replicas = static_cast<std::uint32_t>(0.005 / error / error / share);
  const Mean floor = eta < 0.01 ? floor_of(protocol, eta, replicas, 150000)
                                : floor_of(protocol, eta, replicas / 2, 50000);
  CAPTURE(protocol);
  CAPTURE(eta);
  CAPTURE(floor.value());
  CAPTURE(floor.error());
  CAPTURE(expected);
  CHECK(floor.agrees(expected));
  CHECK(floor.error() <= share * error * expected);
}

/// Exact floors with stale gradients, P learners of exponential speed: then the learners whose
/// gradients come next are a random subset, whatever they read, and the second moments of w and of
/// the values read obey a linear recursion. a = E[w^2], b = E[w r_i], c = E[r_i r_k], d = E[r_i^2],
/// with r_i what learner i read last.
double k_async_floor(double p, double k, double eta) {
  double a = 0, b = 0, c = 0, d = 0;
  const double both = k * (k - 1) / (p * (p - 1)), one = 2 * k * (p - k) / (p * (p - 1));
  for (int update = 0; update < 200000; ++update) {
    const double gradient = d / k + (k - 1) / k * c + 1 / k;  // E[mean gradient^2]
    const double kept = b - eta * c;                          // E[w' r_i], i not among the K
    const double next = a - 2 * eta * b + eta * eta * gradient;
    b = k / p * next + (1 - k / p) * kept;
    c = both * next + one * kept + (1 - both - one) * c;
    d = k / p * next + (1 - k / p) * d;
    a = next;
  }
  return a / 2;
}

/// The same, arrival by arrival, with g the sum of the gradients accepted so far: u = E[g w], v =
/// E[g r_i], q = E[g^2].
double k_batch_async_floor(double p, int k, double eta) {
  double a = 0, b = 0, c = 0, d = 0, u = 0, v = 0, q = 0;
  for (int arrival = 1; arrival <= 200000 * k; ++arrival) {
    q += 2 * v + d + 1;
    u += b;
    v += c;  // of the learners that did not arrive
    double kept = b;
    if (arrival % k == 0) {
      kept = b - eta / k * v;
      a = a - 2 * eta / k * u + eta * eta / (k * k) * q;
      u = v = q = 0;
    } else {
      v = u / p + (1 - 1 / p) * v;
    }
    b = a / p + (1 - 1 / p) * kept;
    d = a / p + (1 - 1 / p) * d;
    c = 2 / p * kept + (1 - 2 / p) * c;
  }
  return a / 2;
}

}  // namespace

TEST_CASE("error floor: the sync family settles at eta sigma^2 / (2 K m (2 - eta c))") {
  for (const double eta : {0.005, 0.05}) {
    if (eta < 0.01 && !is_long_form()) continue;
    const auto floor = [eta](double k) { return eta / (2 * k * (2 - eta)); };
    check_floor(R"({"kind": "sync"})", eta, floor(8), 0.01);
    check_floor(R"({"kind": "k-sync", "k": 4})", eta, floor(4), 0.01);
    check_floor(R"({"kind": "k-batch-sync", "k": 4})", eta, floor(4), 0.01);
    check_floor(R"({"kind": "k-sync", "k": 1})", eta, floor(1), 0.01);
  }
}

TEST_CASE(
    "error floor: the recursions of the moments agree with closed forms and with published "
    "values") {
  for (const double eta : {0.005, 0.05}) {
    const double q = eta * (1 + 8 * eta) / (2 * (1 + eta));  // async, solved by hand
    CHECK(std::abs(k_async_floor(8, 1, eta) - q / (2 * (1 - q))) <= 1e-12);
    CHECK(std::abs(k_batch_async_floor(8, 1, eta) - q / (2 * (1 - q))) <= 1e-12);
    CHECK(std::abs(k_async_floor(8, 8, eta) - eta / (16 * (2 - eta))) <= 1e-12);  // sync
  }
  // Simulated values of two and three digits: within 4 %.
  CHECK(std::abs(k_async_floor(8, 4, 0.005) - 3.1e-4) <= 0.04 * 3.1e-4);
  CHECK(std::abs(k_async_floor(8, 1, 0.005) - 1.34e-3) <= 0.04 * 1.34e-3);
  CHECK(std::abs(k_async_floor(8, 4, 0.05) - 3.4e-3) <= 0.04 * 3.4e-3);
  CHECK(std::abs(k_batch_async_floor(8, 4, 0.05) - 3.6e-3) <= 0.04 * 3.6e-3);
  CHECK(std::abs(k_async_floor(8, 1, 0.05) - 1.73e-2) <= 0.04 * 1.73e-2);
}

TEST_CASE("error floor: staleness raises it as the moments say") {
  if (is_long_form()) check_floor(R"({"kind": "async"})", 0.005, k_async_floor(8, 1, 0.005), 0.005);
  check_floor(R"({"kind": "async"})", 0.05, k_async_floor(8, 1, 0.05), 0.005);
  check_floor(R"({"kind": "k-async", "k": 4})", 0.05, k_async_floor(8, 4, 0.05), 0.005);
  check_floor(R"({"kind": "k-batch-async", "k": 4})", 0.05, k_batch_async_floor(8, 4, 0.05), 0.005);
}

TEST_CASE("error floor: `theory` gives what the recursions and the closed form give") {
  const auto floor = [](const std::string& protocol, double eta) {
    const Point point = quadratic(protocol, eta, 1, 1, 0);
    return error_floor(point.descent(point.theory()).value()).value();
  };
  const auto close = [](double value, double expected) {
    CHECK(std::abs(value - expected) <= 1e-10 * expected);
  };
  for (const double eta : {0.005, 0.05}) {
    close(floor(R"({"kind": "sync"})", eta), eta / (16 * (2 - eta)));
    close(floor(R"({"kind": "async"})", eta), k_async_floor(8, 1, eta));
    close(floor(R"({"kind": "k-async", "k": 4})", eta), k_async_floor(8, 4, eta));
    close(floor(R"({"kind": "k-batch-async", "k": 4})", eta), k_batch_async_floor(8, 4, eta));
  }
}

TEST_CASE(
    "error floor: the mean of 200 replicas of every sync-family run stays below Lemma 2 at every "
    "evaluation") {
  constexpr double eta = 0.05;
  constexpr std::uint32_t replicas = 200;
  for (const auto& [protocol, k] : {std::pair{R"({"kind": "sync"})", 8.0},
                                    {R"({"kind": "k-sync", "k": 4})", 4.0},
                                    {R"({"kind": "k-sync", "k": 2})", 2.0},
                                    {R"({"kind": "k-sync", "k": 1})", 1.0},
                                    {R"({"kind": "k-batch-sync", "k": 4})", 4.0},
                                    {R"({"kind": "k-batch-sync", "k": 20})", 20.0}}) {
    const Point point = quadratic(protocol, eta, 300, 1, 2);
    std::vector<double> mean(301, 0.0), squares(301, 0.0);
    for (std::uint32_t replica = 0; replica < replicas; ++replica) {
      const auto curve = run_training(point, replica).curve;
      REQUIRE(curve.size() == mean.size());
      for (std::size_t j = 0; j < mean.size(); ++j) {
        const double loss = curve[j].evaluation.loss;
        mean[j] += loss / replicas;
        squares[j] += loss * loss / replicas;
      }
    }
    const double initial = 2;  // w_0^2 / 2
    for (std::size_t j = 0; j < mean.size(); ++j) {
      const auto decayed = [&](double floor, double rate) {
        return floor + std::pow(rate, static_cast<double>(j)) * (initial - floor);
      };
      CAPTURE(protocol);
      CAPTURE(j);
      REQUIRE(mean[j] <= decayed(eta / (2 * k), 1 - eta) * (1 + 1e-12));  // rounding of 200 terms
      // The mean itself is known: 5 standard errors at each of the 301 evaluations.
      const double exact = decayed(eta / (2 * k * (2 - eta)), (1 - eta) * (1 - eta));
      const double error =
          std::sqrt(std::fmax(0.0, squares[j] - mean[j] * mean[j]) / (replicas - 1));
      REQUIRE(std::abs(mean[j] - exact) <= 5 * error + 1e-12);
    }
  }
}

}  // namespace gradrace::error_floor_test
