#include "analysis/theory/staleness_theory.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/laws.h"
#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

namespace gradrace::staleness_theory_test {

namespace {

struct Frequency {
  double value, error;  // mean and its standard error over replicas
};

double probability(const StalenessLaw& law, std::uint32_t staleness) {
  if (staleness == 0) return law.fresh;
  return (1 - law.fresh) * (1 - law.ratio) * std::pow(law.ratio, staleness - 1.0);
}

constexpr std::uint32_t replicas = 40;

/// How often each staleness from 0 to `most` occurs in 40 runs of 5,000 updates, the first 100 of
/// which weigh nothing against them.
std::vector<Frequency> frequencies(const std::string& protocol, std::uint32_t learners,
                                   const std::string& runtime, std::uint32_t most) {
  const Race race = race_of(learners, protocol, R"({"updates": 5000})", runtime);
  std::vector<double> sum(most + 1), squares(most + 1);
  for (std::uint32_t replica = 0; replica < replicas; ++replica) {
    const RunRecord record = run_timing(race, replica);
    for (std::uint32_t s = 0; s <= most && s < record.staleness_counts.size(); ++s) {
      const double share = static_cast<double>(record.staleness_counts[s]) /
                           static_cast<double>(record.totals.applied);
      sum[s] += share;
      squares[s] += share * share;
    }
  }
  std::vector<Frequency> result;
  for (std::uint32_t s = 0; s <= most; ++s) {
    const double mean = sum[s] / replicas;
    result.push_back({mean, std::sqrt((squares[s] / replicas - mean * mean) / (replicas - 1))});
  }
  return result;
}

Theory theory_of(const std::string& protocol, std::uint32_t learners, const std::string& runtime) {
  return point_from(R"({"cluster": {"learners": )" + std::to_string(learners) + R"(, "runtime": )" +
                    runtime + R"(}, "protocol": )" + protocol + R"(, "stop": {"updates": 1}})")
      .theory();
}

}  // namespace

TEST_CASE("staleness theory: each law adds up to 1 and has the mean that holds for any runtimes") {
  for (const std::uint32_t p : {2u, 3u, 8u, 40u}) {
    for (const std::uint32_t k : {1u, 2u, 3u, 7u, 8u, 100u}) {
      for (const ReadOrder reading :
           {ReadOrder::together, ReadOrder::after_arrival, ReadOrder::before_update}) {
        if (reading == ReadOrder::together && k > p) continue;
        const auto law = memoryless_staleness(reading, k, p);
        REQUIRE(law);
        double sum = 0, mean = 0;
        for (std::uint32_t s = 0; s < 4000; ++s) {
          REQUIRE(probability(*law, s) >= 0);
          sum += probability(*law, s);
          mean += s * probability(*law, s);
        }
        const double n = p;
        const double expected = reading == ReadOrder::together        ? (n - k) / k
                                : reading == ReadOrder::after_arrival ? (n - 1) / k
                                                                      : n / k;
        CAPTURE(p);
        CAPTURE(k);
        CHECK(sum == doctest::Approx(1).epsilon(1e-12));
        CHECK(mean == doctest::Approx(expected).epsilon(1e-9));
        CHECK(law->mean() == doctest::Approx(expected).epsilon(1e-12));
      }
    }
  }
  CHECK(!memoryless_staleness(ReadOrder::other, 1, 8));
}

TEST_CASE("staleness theory: fresh are 1/P of async, K/P of k-async, 0.2758 of k-batch-async") {
  CHECK(memoryless_staleness(ReadOrder::after_arrival, 1, 8)->fresh == doctest::Approx(1.0 / 8));
  CHECK(memoryless_staleness(ReadOrder::together, 1, 8)->fresh == doctest::Approx(1.0 / 8));
  CHECK(memoryless_staleness(ReadOrder::together, 4, 8)->fresh == doctest::Approx(4.0 / 8));
  CHECK(std::abs(memoryless_staleness(ReadOrder::after_arrival, 4, 8)->fresh - 0.2758) <= 0.00005);
  for (const std::uint32_t k : {1u, 4u, 9u}) {
    double sum = 0;
    for (std::uint32_t l = 1; l <= k; ++l) sum += 1 - std::pow(7.0 / 8, l);
    CHECK(memoryless_staleness(ReadOrder::after_arrival, k, 8)->fresh == doctest::Approx(sum / k));
  }
}

TEST_CASE("staleness theory: exponential runtimes give each staleness as often as its law says") {
  for (const auto& [protocol, learners, k] :
       {std::tuple{R"({"kind": "async"})", 8u, 1u},
        {R"({"kind": "k-async", "k": 4})", 8, 4},
        {R"({"kind": "k-async", "k": 2})", 5, 2},
        {R"({"kind": "k-batch-async", "k": 4})", 8, 4},
        {R"({"kind": "k-batch-async", "k": 11})", 4, 11},
        {R"({"kind": "softsync", "n": 2})", 8, 4},
        {R"({"kind": "softsync", "n": 3, "pull": "before"})", 9, 3}}) {
    const auto law =
        memoryless_staleness(theory_of(protocol, learners, exponential_1).reading, k, learners);
    REQUIRE(law);
    const auto found = frequencies(protocol, learners, exponential_1, 5);
    for (std::uint32_t s = 0; s <= 5; ++s) {
      const double expected = probability(*law, s);
      CAPTURE(protocol);
      CAPTURE(s);
      CAPTURE(expected);
      CAPTURE(found[s].value);
      // 4 standard errors, and the cold start's share of 200,000 gradients.
      CHECK(std::abs(found[s].value - expected) <= 4 * found[s].error + 1e-3);
      CHECK(found[s].error <= 0.002);
    }
  }
}

TEST_CASE("staleness theory: async's fresh fraction by quadrature") {
  const auto fresh = [](const char* law, std::uint32_t p) {
    return fresh_fraction_of_async(*law_of(law), p).value();
  };
  for (const std::uint32_t p : {1u, 2u, 3u, 8u, 20u, 100u}) {
    CAPTURE(p);
    CHECK(fresh(exponential_1, p) == doctest::Approx(1.0 / p).epsilon(1e-6));
    // S_e(1 + y) = e^-y / 2; S_e(x) = 1/(2 x) where x > 1.
    CHECK(std::abs(fresh(shifted_exponential_1_1, p) - std::pow(0.5, p - 1.0) / p) <= 1e-7);
    CHECK(std::abs(fresh(pareto_2_1, p) - std::pow(0.5, p - 1.0) * 2 / (p + 1)) <= 1e-7);
  }
  // Published, simulated: to the digits given.
  CHECK(std::abs(fresh(shifted_exponential_1_1, 8) - 0.001) <= 0.0005);
  CHECK(std::abs(fresh(pareto_2_1, 8) - 0.002) <= 0.0005);
  CHECK(std::abs(fresh(hyperexponential_mean_1, 8) - 0.22) <= 0.005);
  // Of two learners E[S_e(X)] for X uniform on 0 to 1, S_e = (1 - x)^2: 1/3.
  CHECK(std::abs(fresh(R"({"distribution": "uniform", "low": 0, "high": 1})", 2) - 1.0 / 3) <=
        1e-7);
  CHECK(!fresh_fraction_of_async(*law_of(R"({"distribution": "deterministic", "value": 1})"), 8));
}

TEST_CASE("staleness theory: async's fresh fraction is what runs show, and Lemma 8 bounds it") {
  for (const auto& [runtime, ageing] :
       {std::pair{hyperexponential_mean_1, Ageing::new_shorter},
        {shifted_exponential_1_1, Ageing::new_longer},
        {pareto_2_1, Ageing::neither},
        {R"({"distribution": "gamma", "shape": 2, "scale": 1})", Ageing::new_longer},
        {R"({"distribution": "weibull", "shape": 0.7, "scale": 1})", Ageing::new_shorter}}) {
    const auto law = law_of(runtime);
    REQUIRE(law->ageing() == ageing);
    const double expected = fresh_fraction_of_async(*law, 4).value();
    const auto found = frequencies(R"({"kind": "async"})", 4, runtime, 0).front();
    CAPTURE(runtime);
    CAPTURE(expected);
    CAPTURE(found.value);
    CHECK(std::abs(found.value - expected) <= 4 * found.error + 2e-4);
    CHECK(found.error <= 0.002);
    if (ageing == Ageing::new_longer) CHECK(expected <= 1.0 / 4);
    if (ageing == Ageing::new_shorter) CHECK(expected >= 1.0 / 4);
  }
}

TEST_CASE("staleness theory: K/P bounds k-async's fresh fraction by ageing") {
  const std::string protocol = R"({"kind": "k-async", "k": 3})";
  for (const auto& [runtime, basis] : {std::pair{hyperexponential_mean_1, Basis::lower},
                                       {shifted_exponential_1_1, Basis::upper}}) {
    const auto fresh = fresh_fraction(*law_of(runtime), theory_of(protocol, 8, runtime), 3, 8);
    REQUIRE(fresh);
    CHECK(fresh->value == 3.0 / 8);
    CHECK(fresh->basis == basis);
    const auto found = frequencies(protocol, 8, runtime, 0).front();
    CAPTURE(found.value);
    CHECK((found.value < 3.0 / 8 - 4 * found.error) == (basis == Basis::upper));
    CHECK((found.value > 3.0 / 8 + 4 * found.error) == (basis == Basis::lower));
  }
}

TEST_CASE("staleness theory: p0 is known of memoryless and new-shorter runtimes") {
  using enum ReadOrder;
  CHECK(least_fresh_probability(Ageing::memoryless, together, 3, 8) == 3.0 / 8);
  CHECK(least_fresh_probability(Ageing::memoryless, after_arrival, 3, 8) == 1.0 / 8);
  CHECK(least_fresh_probability(Ageing::new_shorter, together, 3, 8) == 1.0 / 8);
  CHECK(least_fresh_probability(Ageing::new_longer, together, 3, 8) == 0);
  CHECK(least_fresh_probability(Ageing::neither, after_arrival, 1, 8) == 0);
}

TEST_CASE("staleness theory: what is known of a protocol's fresh fraction, and on what basis") {
  const auto fresh = [](const char* protocol, const char* runtime, std::uint32_t k) {
    return fresh_fraction(*law_of(runtime), theory_of(protocol, 8, runtime), k, 8);
  };
  const auto of_sync = fresh(R"({"kind": "k-batch-sync", "k": 3})", pareto_2_1, 3);
  REQUIRE(of_sync);
  CHECK(of_sync->value == 1);
  CHECK(of_sync->basis == Basis::exact);
  const auto of_async = fresh(R"({"kind": "async"})", hyperexponential_mean_1, 1);
  REQUIRE(of_async);
  CHECK(of_async->basis == Basis::exact);
  const auto of_before = fresh(R"({"kind": "softsync", "n": 8, "pull": "before"})", pareto_2_1, 1);
  REQUIRE(of_before);
  CHECK(of_before->value == 0);
  CHECK(!fresh(R"({"kind": "k-async", "k": 3})", pareto_2_1, 3));
  CHECK(!fresh(R"({"kind": "k-batch-async", "k": 3})", shifted_exponential_1_1, 3));
  CHECK(!fresh(R"({"kind": "ssp", "bound": 2})", exponential_1, 1));
}

}  // namespace gradrace::staleness_theory_test
