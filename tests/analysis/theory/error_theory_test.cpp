#include "analysis/theory/error_theory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "analysis/theory/quadratic_theory.h"
#include "analysis/theory/runtime_theory.h"
#include "tests/support/laws.h"
#include "tests/support/schedule.h"

namespace gradrace::error_theory_test {

namespace {

/// Of F = w^2 / 2 (c = L = 1) with noise of that variance.
ProblemConstants unit_problem(double variance, double gap) {
  return {.c = 1, .smoothness = 1, .variance = variance, .gap = gap};
}

/// Second moments of async with exponential runtimes on F = w^2 / 2, noise of variance 1, from
/// w_0 = start, at each update: of w, and of w - w_tau.
struct Moment {
  double square, moved;
};
std::vector<Moment> async_moments(double p, double eta, double start, std::uint32_t updates) {
  double a = start * start, b = a, c = a, d = a;
  std::vector<Moment> moments{{a, 0}};
  for (std::uint32_t j = 0; j < updates; ++j) {
    const double kept = b - eta * c;
    a += -2 * eta * b + eta * eta * (d + 1);
    b = a / p + (1 - 1 / p) * kept;
    c = 2 / p * kept + (1 - 2 / p) * c;
    d = a / p + (1 - 1 / p) * d;
    moments.push_back({a, a - 2 * b + d});
  }
  return moments;
}

}  // namespace

TEST_CASE("error theory: the set that reproduces Fig. 7") {
  // eta c = 2e-4, eta L sigma^2 / (2 c m) = 1.25e-3, F(w_0) - F* = 1000, gamma' = 0.5, P = 5,
  // Pareto(2, 1).
  constexpr double eta = 0.01, gamma = 0.5;
  const ProblemConstants problem{.c = 0.02, .smoothness = 1, .variance = 5e-3, .gap = 1000};
  const auto law = law_of(pareto_2_1);
  const double sync_time = law->expected_order_statistic(5, 5), async_time = law->mean() / 5;
  CHECK(std::abs(sync_time - 4.063) <= 0.0005);
  CHECK(async_time == doctest::Approx(0.4));
  const auto sync = fresh_step(problem, 5, eta), async = stale_step(problem, 1, eta, gamma);
  REQUIRE(sync);
  REQUIRE(async);
  const auto log_error = [&](const ErrorStep& step, double iteration_time, double time) {
    return std::log(step.after(time / iteration_time, problem.gap));
  };
  CHECK(std::abs(log_error(*sync, sync_time, 0) - 6.91) <= 0.005);
  CHECK(std::abs(log_error(*async, async_time, 0) - 6.91) <= 0.005);
  CHECK(std::abs(std::log(async->floor()) + 5.99) <= 0.005);
  CHECK(std::abs(std::log(sync->floor()) + 8.29) <= 0.005);
  CHECK(sync->floor() * 5 / gamma == doctest::Approx(async->floor()));
  // Slopes and floors as they are drawn: -4.90e-5 and -2.49e-4 per unit of time, -8.31 and -5.99.
  CHECK(std::abs((log_error(*sync, sync_time, 1e5) - log_error(*sync, sync_time, 0)) / 1e5 +
                 4.90e-5) <= 0.05e-5);
  CHECK(std::abs((log_error(*async, async_time, 1e4) - log_error(*async, async_time, 0)) / 1e4 +
                 2.49e-4) <= 0.025e-4);
  CHECK(std::abs(log_error(*sync, sync_time, 5e5) + 8.31) <= 0.05);
  double crossing = 0, async_there = 0, sync_there = 0;
  for (double time = 0; time < 5e5; time += 100) {
    const double of_sync = log_error(*sync, sync_time, time);
    const double of_async = log_error(*async, async_time, time);
    if (crossing == 0 && time > 0 && of_sync <= of_async) crossing = time;
    if (async_there == 0 && of_async <= -5.9) async_there = time;
    if (sync_there == 0 && of_sync <= -5.9) sync_there = time;
  }
  CHECK(std::abs(crossing - 2.65e5) <= 0.05e5);
  CHECK(std::abs(async_there - 0.6e5) <= 0.1e5);
  CHECK(sync_there / async_there > 4);
  CHECK(sync_there / async_there < 5.5);
}

TEST_CASE("error theory: gamma' = 1 - gamma + p0/2, and above 1 async gains more in an update") {
  CHECK(gamma_prime(0.25, 0.125) == 0.8125);
  CHECK(gamma_prime(0, 0) == 1);
  const auto problem = unit_problem(1, 1);
  for (const double gamma : {0.0, 0.1, 0.5}) {
    for (const double p0 : {0.1, 0.2, 0.5}) {
      const double rate = stale_step(problem, 1, 0.1, gamma_prime(gamma, p0))->rate;
      CHECK((rate > fresh_step(problem, 1, 0.1)->rate) == (p0 / 2 > gamma));
    }
  }
}

TEST_CASE("error theory: the floors at one learning rate differ by P / gamma'") {
  const ProblemConstants problem{.c = 0.5, .smoothness = 2, .variance = 3, .minibatch = 4};
  const double sync = fresh_step(problem, 8, 0.05)->floor();
  CHECK(sync == doctest::Approx(0.05 * 2 * 3 / (2 * 0.5 * 8 * 4)));
  CHECK(stale_step(problem, 1, 0.05, 0.7)->floor() / sync == doctest::Approx(8 / 0.7));
}

TEST_CASE("error theory: Theorem 4 adds what distance gives to the noise, and needs no gamma") {
  const ProblemConstants problem{.c = 0.5, .smoothness = 2, .variance = 3, .minibatch = 4};
  const auto step = distance_step(problem, 0.05, 0.25, 0.01);
  REQUIRE(step);
  CHECK(step->rate == doctest::Approx(0.05 * (1 + 0.125) * 0.5));
  CHECK(step->noise == doctest::Approx(0.05 * 0.05 * 2 * 3 / (2 * 4) + 0.01 * 2 * 2 / 2.0));
}

TEST_CASE("error theory: many steps at once are as many single ones") {
  const ErrorStep step{0.03, 0.002};
  double error = 7;
  for (int j = 0; j < 100; ++j) error = (1 - step.rate) * error + step.noise;
  CHECK(step.after(100, 7) == doctest::Approx(error).epsilon(1e-12));
}

TEST_CASE("error theory: no bound where the learning rate is too large for it") {
  const ProblemConstants problem{.c = 0.5, .smoothness = 2, .relative_variance = 3, .minibatch = 2};
  CHECK(largest_eta(problem, 4) == doctest::Approx(1 / (4 * (3.0 / 8 + 1))));
  for (const double k : {1.0, 4.0}) {
    const double limit = largest_eta(problem, k);
    CHECK(fresh_step(problem, k, limit));
    CHECK(!fresh_step(problem, k, 1.001 * limit));
    CHECK(!stale_step(problem, k, 1.001 * limit, 0.5));
    CHECK(!gradient_bound(problem, k, 1.001 * limit, 1, 10));
  }
  CHECK(distance_step(problem, largest_eta(problem, 1), 0, 1));
  CHECK(!distance_step(problem, 1.001 * largest_eta(problem, 1), 0, 1));
}

TEST_CASE("error theory: with the slips as printed the bound would be wrong") {
  // Fresh gradients without noise, w' = (1 - eta h) w in each direction: exact.
  const auto loss_after = [](double c, double smoothness, double eta) {
    const NoisyQuadratic quadratic{.directions = {{c, 1}, {smoothness, 1}}};
    const std::uint64_t updates[] = {20};
    return fresh_losses(
               quadratic, 8, [eta](std::uint64_t) { return eta; }, updates)
        .front();
  };
  const auto bound_after = [](double c, double smoothness, double eta) {
    return ErrorStep{eta * c, 0}.after(20, (c + smoothness) / 2);
  };
  const double c = 0.1, smoothness = 1;
  const double of_theorem_3 = 1 / (2 * smoothness * (0 + 1.0 / 8));  // 1/K in place of 1
  const double larger_of_two = std::max(1 / c, 1 / (2 * smoothness));
  const double right = largest_eta({.c = c, .smoothness = smoothness}, 8);
  CHECK(loss_after(c, smoothness, of_theorem_3) >
        1e3 * std::abs(bound_after(c, smoothness, of_theorem_3)));
  CHECK(loss_after(c, smoothness, larger_of_two) >
        1e3 * std::abs(bound_after(c, smoothness, larger_of_two)));
  CHECK(loss_after(c, smoothness, right) <= bound_after(c, smoothness, right));
}

TEST_CASE("error theory: Lemma 2 is above the exact loss of quadratics, at equal and other rates") {
  for (const double c : {1.0, 0.3, 0.01}) {
    const NoisyQuadratic quadratic{.directions = {{c, 3}, {1, 2}}, .start = 2, .variance = 0.5};
    const ProblemConstants problem = quadratic.constants();
    CHECK(problem.c == c);
    CHECK(problem.smoothness == 1);
    CHECK(problem.variance == doctest::Approx(2.5));
    CHECK(problem.gap == doctest::Approx(2 * (3 * c + 2)));
    const std::vector<std::uint64_t> updates{0, 1, 2, 5, 20, 100, 1000};
    for (const double eta : {0.5, 0.05}) {
      for (const Rates& rates :
           {Rates([eta](std::uint64_t) { return eta; }), Rates([eta](std::uint64_t j) {
              return eta / std::sqrt(1.0 + static_cast<double>(j));
            })}) {
        const auto exact = fresh_losses(quadratic, 4, rates, updates);
        const auto bound = fresh_bounds(problem, 4, rates, updates);
        REQUIRE(bound.size() == updates.size());
        CHECK(exact.front() == doctest::Approx(bound.front()));
        for (std::size_t i = 0; i < updates.size(); ++i) CHECK(exact[i] <= bound[i] * (1 + 1e-12));
      }
    }
    const Rates constant = [](std::uint64_t) { return 0.05; };
    const auto bound = fresh_bounds(problem, 4, constant, updates);
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const auto j = static_cast<double>(updates[i]);
      CHECK(bound[i] == doctest::Approx(fresh_step(problem, 4, 0.05)->after(j, problem.gap)));
    }
    CHECK(fresh_bounds(
              problem, 4, [](std::uint64_t j) { return j == 7 ? 0.6 : 0.1; }, updates)
              .empty());
  }
}

TEST_CASE("error theory: Theorems 3, 4 and 5 bound async with exponential runtimes") {
  constexpr std::uint32_t updates = 3000;
  for (const double p : {2.0, 8.0}) {
    for (const double eta : {0.005, 0.05}) {
      const auto moments = async_moments(p, eta, 0.2, updates);
      const auto problem = unit_problem(1, moments.front().square / 2);
      double gamma = 0, distance = 0;
      for (const auto& [square, moved] : moments) {
        gamma = std::max(gamma, moved / square);  // h = 1: gradients are as far apart as values
        distance = std::max(distance, eta * moved);
      }
      CAPTURE(p);
      CAPTURE(eta);
      CAPTURE(gamma);
      REQUIRE(gamma < 1);
      const double prime = gamma_prime(gamma, 1 / p);
      const auto by_gamma = stale_step(problem, 1, eta, prime);
      const auto by_distance = distance_step(problem, eta, 1 / p, distance);
      REQUIRE(by_gamma);
      REQUIRE(by_distance);
      double squares = 0;
      for (std::uint32_t j = 0; j <= updates; ++j) {
        const double error = moments[j].square / 2;
        squares += moments[j].square;
        REQUIRE(error <= by_gamma->after(j, problem.gap) * (1 + 1e-12));
        REQUIRE(error <= by_distance->after(j, problem.gap) * (1 + 1e-12));
        REQUIRE(squares / (j + 1) <= gradient_bound(problem, 1, eta, prime, j).value());
      }
      CHECK(by_gamma->floor() < 8 * moments.back().square / 2);  // not a bound by its size alone
    }
  }
}

TEST_CASE("error theory: Theorem 4 bounds async where Theorem 3's gamma would be above 1") {
  constexpr double p = 8, eta = 0.05;
  const auto moments = async_moments(p, eta, 3, 1000);  // w swings through 0 at first
  double gamma = 0, distance = 0;
  for (const auto& [square, moved] : moments) {
    gamma = std::max(gamma, moved / square);
    distance = std::max(distance, eta * moved);
  }
  CHECK(gamma > 1);
  const auto step = distance_step(unit_problem(1, 4.5), eta, 1 / p, distance);
  REQUIRE(step);
  for (std::uint32_t j = 0; j < moments.size(); ++j)
    REQUIRE(moments[j].square / 2 <= step->after(j, 4.5) * (1 + 1e-12));
}

TEST_CASE("error theory: over time the gradient bound is least where AdaSync's rule says") {
  // Exponential runtimes, k-batch-sync: E[T] = K/P, so K^2 dE[T]/dK = K^2 / P.
  const ProblemConstants problem{.smoothness = 2, .variance = 3, .minibatch = 4, .gap = 5};
  constexpr double eta = 0.01, p = 8, time = 4e5;
  const double best = std::sqrt(p * 2 * eta * eta * 3 * time / (2 * 4 * 5));
  const auto at = [&](double k) {
    return gradient_bound(problem, k, eta, 1, time / (k / p) - 1).value();
  };
  CHECK(at(best) < at(0.99 * best));
  CHECK(at(best) < at(1.01 * best));
  CHECK(at(4) == doctest::Approx(2 * 5 * (4 / p) / (eta * time) + 2 * eta * 3 / (4 * 4)));
}

}  // namespace gradrace::error_theory_test
