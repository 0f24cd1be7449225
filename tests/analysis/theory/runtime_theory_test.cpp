#include "analysis/theory/runtime_theory.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/laws.h"
#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

namespace gradrace::runtime_theory_test {

namespace {

constexpr const char* constant = R"({"distribution": "deterministic", "value": 3})";

double harmonic(std::uint32_t n) {
  double sum = 0;
  for (std::uint32_t i = 1; i <= n; ++i) sum += 1.0 / i;
  return sum;
}

/// waiting_over_working() of exponential runtimes: P (H_P - H_{P-K}) / K.
double waiting_over_working_memoryless(std::uint32_t k, std::uint32_t p) {
  return p * (harmonic(p) - harmonic(p - k)) / k;
}

/// (P/K) log(P/(P-K)), K < P: what the paper gives as its approximation.  An upper bound: 7 to 21 %
/// high at P = 8.
double waiting_over_working_logarithm(double k, double p) { return p / k * std::log(p / (p - k)); }

}  // namespace

TEST_CASE("runtime theory: sync over async is that of Fig. 5, for three laws") {
  struct Row {
    std::uint32_t learners;
    double exponential, shifted, pareto;  // exact, to two decimals
    double drawn_e, drawn_s, drawn_p;     // read from the figure
  };
  for (const Row& row : {Row{2, 3.00, 2.50, 2.67, 3.0, 2.4, 2.6},
                         {5, 11.42, 8.21, 10.16, 11.4, 8.0, 10.3},
                         {10, 29.29, 19.64, 28.38, 30.0, 18.8, 28.8},
                         {15, 49.77, 32.39, 51.92, 47.7, 30.4, 52.1},
                         {20, 71.95, 45.98, 79.76, 70.5, 42.4, 80.1}}) {
    const auto check = [&](const char* law, double exact, double drawn) {
      const double ratio = sync_over_async(*law_of(law), row.learners);
      CAPTURE(law);
      CAPTURE(row.learners);
      CHECK(std::abs(ratio - exact) <= 0.005 * (1 + 1e-9));
      CHECK(std::abs(ratio - drawn) <= 0.085 * drawn);  // drawn from simulated runs from cold
    };
    check(exponential_1, row.exponential, row.drawn_e);
    check(shifted_exponential_1_1, row.shifted, row.drawn_s);
    check(pareto_2_1, row.pareto, row.drawn_p);
  }
}

TEST_CASE("runtime theory: sync over async has closed forms, and is P for constant runtimes") {
  const auto shifted = law_of(shifted_exponential_1_1), pareto = law_of(pareto_2_1);
  for (std::uint32_t p = 1; p <= 40; ++p) {
    CAPTURE(p);
    const double n = p;
    const double of_pareto = std::exp(std::lgamma(n + 1) + std::lgamma(0.5) - std::lgamma(n + 0.5));
    CHECK(sync_over_async(*law_of(exponential_1), p) ==
          doctest::Approx(n * harmonic(p)).epsilon(1e-9));
    CHECK(sync_over_async(*shifted, p) == doctest::Approx(n * (1 + harmonic(p)) / 2).epsilon(1e-9));
    CHECK(sync_over_async(*pareto, p) == doctest::Approx(n * of_pareto / 2).epsilon(1e-9));
    CHECK(sync_over_async(*law_of(constant), p) == doctest::Approx(n).epsilon(1e-9));
    CHECK(n * std::log(n) <= sync_over_async(*law_of(exponential_1), p));
  }
}

TEST_CASE("runtime theory: exponential runtimes gain most up to P = 12, Pareto ones from 13 on") {
  const auto exponential = law_of(exponential_1), shifted = law_of(shifted_exponential_1_1),
             pareto = law_of(pareto_2_1);
  for (std::uint32_t p = 2; p <= 20; ++p) {
    CAPTURE(p);
    const double e = sync_over_async(*exponential, p), s = sync_over_async(*shifted, p),
                 x = sync_over_async(*pareto, p);
    CHECK((e > x) == (p <= 12));
    CHECK(s < std::min(e, x));
  }
}

TEST_CASE("runtime theory: waiting over working is that of Theorem 2") {
  const double exact[] = {1.000, 1.071, 1.159, 1.269, 1.415, 1.624, 1.963, 2.718};
  const double logarithm[] = {1.068, 1.151, 1.253, 1.386, 1.569, 1.848, 2.377};
  for (std::uint32_t k = 1; k <= 8; ++k) {
    CAPTURE(k);
    CHECK(std::abs(waiting_over_working_memoryless(k, 8) - exact[k - 1]) <= 0.0005);
    CHECK(waiting_over_working(*law_of(exponential_1), k, 8) ==
          doctest::Approx(waiting_over_working_memoryless(k, 8)).epsilon(1e-9));
    if (k == 8) continue;
    const double about = waiting_over_working_logarithm(k, 8);
    CHECK(std::abs(about - logarithm[k - 1]) <= 0.0005);
    CHECK(about > 1.065 * waiting_over_working_memoryless(k, 8));
    CHECK(about < 1.215 * waiting_over_working_memoryless(k, 8));
  }
  for (std::uint32_t k = 2; k <= 100; ++k)
    CHECK(waiting_over_working_memoryless(k, 100) > waiting_over_working_memoryless(k - 1, 100));
}

TEST_CASE("runtime theory: times of 2,000 updates are the long-run values beside Fig. 6") {
  const auto pareto = law_of(pareto_2_1), shifted = law_of(shifted_exponential_1_1);
  const auto of_sync = [](const Distribution& law, std::uint32_t k) {
    return 2000 * k * law.mean() / 20 * waiting_over_working(law, k, 20);
  };
  for (const auto& [k, expected] :
       {std::pair{1u, 2051.0}, {10, 2811}, {12, 3133}, {13, 3342}, {20, 15953}})
    CHECK(std::abs(of_sync(*pareto, k) - expected) <= 0.5);
  for (const auto& [k, expected] : {std::pair{1u, 2100.0}, {10, 3338}, {20, 9195}})
    CHECK(std::abs(of_sync(*shifted, k) - expected) <= 0.5);
}

TEST_CASE("runtime theory: the curves of Fig. 6 are k-sync's times, and k-async's stand in order") {
  // The means of 100 runs of 20 updates from a cold start, as they are drawn, K = 1..20.
  const double pareto_sync[] = {2051, 2107, 2165, 2227, 2308, 2386, 2471, 2565, 2691, 2805,
                                2942, 3123, 3353, 3586, 3946, 4398, 4955, 5958, 8090, 15505};
  const double pareto_async[] = {242,  435,  643,  866,  1086, 1325, 1595, 1904, 2227, 2489,
                                 2752, 3017, 3355, 3743, 4154, 4713, 5548, 6801, 8995, 16033};
  const double shifted_sync[] = {2099, 2213, 2315, 2430, 2550, 2694, 2843, 2985, 3150, 3331,
                                 3536, 3770, 4021, 4307, 4624, 5038, 5546, 6191, 7211, 9190};
  const double shifted_async[] = {271,  478,  687,  926,  1183, 1433, 1702, 2000, 2332, 2620,
                                  2930, 3200, 3551, 3903, 4286, 4782, 5391, 6057, 7160, 9225};
  const auto pareto = law_of(pareto_2_1), shifted = law_of(shifted_exponential_1_1);
  REQUIRE(shifted->ageing() == Ageing::new_longer);
  REQUIRE(pareto->ageing() == Ageing::neither);
  for (std::uint32_t k = 1; k <= 20; ++k) {
    CAPTURE(k);
    const double of_pareto = 2000 * pareto->expected_order_statistic(k, 20);
    const double of_shifted = 2000 * shifted->expected_order_statistic(k, 20);
    // X_{19:20} and X_{20:20} of a law of infinite variance: wide.
    CHECK(std::abs(pareto_sync[k - 1] - of_pareto) <= (k < 19 ? 0.01 : 0.05) * of_pareto);
    CHECK(std::abs(shifted_sync[k - 1] - of_shifted) <= 0.01 * of_shifted);
    CHECK(shifted_async[k - 1] <= 1.005 * of_shifted);       // Lemma 5
    CHECK((pareto_async[k - 1] <= of_pareto) == (k <= 12));  // which needs new-longer
    CHECK(pareto_async[k - 1] >= 200 * k);                   // nobody is faster than never idle
    CHECK(shifted_async[k - 1] >= 200 * k);
  }
}

TEST_CASE("runtime theory: 500 updates of Fig. 8 take 1358.9, 250 and 62.5") {
  for (const auto& [protocol, expected] : {std::pair{R"({"kind": "sync"})", 1358.9},
                                           {R"({"kind": "k-batch-async", "k": 4})", 250.0},
                                           {R"({"kind": "async"})", 62.5}}) {
    const Point point = point_from(
        R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
            "stop": {"updates": 500}, "protocol": )" +
        std::string(protocol) + "}");
    CHECK(std::abs(500 * point.theory().iteration_time.value().value - expected) <= 0.05);
  }
}

TEST_CASE("runtime theory: a bound of a time is the other bound of a speed-up") {
  const auto law = law_of(exponential_1);
  const auto of = [&](Basis basis) { return speedup_over_sync(*law, 8, {0.5, basis}); };
  CHECK(of(Basis::exact).value == doctest::Approx(harmonic(8) / 0.5).epsilon(1e-9));
  CHECK(of(Basis::exact).basis == Basis::exact);
  CHECK(of(Basis::upper).basis == Basis::lower);
  CHECK(of(Basis::lower).basis == Basis::upper);
  CHECK(of(Basis::approximate).basis == Basis::approximate);
}

}  // namespace gradrace::runtime_theory_test
