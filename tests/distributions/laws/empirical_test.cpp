#include <doctest/doctest.h>

#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "distributions/measured.h"
#include "distributions/order_statistics.h"
#include "tests/support/laws.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::empirical_test {
namespace {

/// A law over a file of its own.
class Measurement {
 public:
  explicit Measurement(const std::string& content) { folder_.write("t.csv", content); }

  std::string json(const std::string& keys = "") const {
    return R"({"distribution": "empirical", "path": ")" + (folder_.path() / "t.csv").string() +
           R"(", "column": "t")" + keys + "}";
  }
  DistributionProduct law(const std::string& keys = "") const { return law_of(json(keys)); }
  void rewrite(const std::string& content) const { folder_.write("t.csv", content); }

 private:
  TemporaryFolder folder_;
};

const Measurement& five() {
  static const Measurement file("t\n3\n1\n2\n2\n7\n");
  return file;
}

/// Two learners: 1, 2, 3, 4 and 10, 20, 30.
const Measurement& two_learners() {
  static const Measurement file("l,t\n0,1\n0,2\n1,10\n0,3\n1,20\n1,30\n0,4\n");
  return file;
}

const char* const by_learner = R"(, "learner_column": "l")";

std::vector<double> first_draws(const Distribution& law, std::uint32_t learner, std::uint32_t count,
                                std::uint32_t replica = 0) {
  std::vector<double> x;
  for (std::uint32_t draw = 0; draw < count; ++draw) {
    x.push_back(law.draw({.seed = 5, .replica = replica, .learner = learner, .draw = draw}));
  }
  return x;
}

TEST_CASE("empirical: moments, survival, quantiles and order statistics of five times, by hand") {
  const auto law = five().law();
  CHECK(law->mean() == doctest::Approx(3).epsilon(1e-15));
  CHECK(law->variance() == doctest::Approx((0 + 4 + 1 + 1 + 16) / 5.0).epsilon(1e-15));
  CHECK(law->survival(0.9) == 1);
  CHECK(law->survival(1) == 0.8);
  CHECK(law->survival(2) == 0.4);
  CHECK(law->survival(6.9) == 0.2);
  CHECK(law->survival(7) == 0);
  for (const auto& [p, x] : {std::pair{0.0, 1.0},
                             {0.2, 1.0},
                             {0.2001, 2.0},
                             {0.6, 2.0},
                             {0.61, 3.0},
                             {0.8, 3.0},
                             {0.81, 7.0},
                             {0.999999, 7.0}}) {
    CAPTURE(p);
    CHECK(law->quantile(p) == x);
  }
  // P(the larger of two <= 1, 2, 3, 7) = 1/25, 9/25, 16/25, 1.
  CHECK(law->expected_order_statistic(2, 2) ==
        doctest::Approx((1 * 1 + 2 * 8 + 3 * 7 + 7 * 9) / 25.0).epsilon(1e-14));
  CHECK_FALSE(law->has_memory());
  CHECK(five().law(R"(, "scale": 0.5)")->mean() == doctest::Approx(1.5).epsilon(1e-15));
}

TEST_CASE("empirical: order statistics equal the quadrature, up to 10^5 learners") {
  const auto law =
      law_of(R"({"distribution": "empirical", "path": "times.csv", "column": "time"})");
  for (const std::uint32_t n : {1u, 10u, 1000u, 100'000u}) {
    for (const std::uint32_t k : {1u, (n + 1) / 2, n}) {
      CAPTURE(k);
      CAPTURE(n);
      CHECK(law->expected_order_statistic(k, n) ==
            doctest::Approx(integrate_order_statistic(*law, k, n)).epsilon(1e-9));
    }
  }
  CHECK(law->expected_order_statistic(100'000, 100'000) ==
        doctest::Approx(law->quantile(0.9999)).epsilon(1e-9));
}

TEST_CASE("empirical: how it ages is told by the times") {
  CHECK(Measurement("t\n1\n1.5\n2\n").law()->ageing() == Ageing::new_longer);
  CHECK(Measurement("t\n1\n2.5\n").law()->ageing() == Ageing::neither);
  CHECK(Measurement("t\n4\n").law()->ageing() == Ageing::new_longer);
  std::string many = "t\n";
  for (int i = 0; i < 1500; ++i) many += std::to_string(1000 + 751 * i % 1500) + "\n";
  CHECK(Measurement(many).law()->ageing() == Ageing::neither);
}

TEST_CASE("empirical: replay gives each learner the times of one, in order, and starts again") {
  const auto law =
      two_learners().law(by_learner + std::string(R"(, "mode": "replay", "scale": 2)"));
  CHECK(law->has_memory());
  CHECK(first_draws(*law, 0, 6) == std::vector<double>{2, 4, 6, 8, 2, 4});
  CHECK(first_draws(*law, 1, 4) == std::vector<double>{20, 40, 60, 20});
  CHECK(first_draws(*law, 5, 4) == first_draws(*law, 1, 4));
  CHECK(first_draws(*law, 0, 6, 3) == first_draws(*law, 0, 6));
  const auto* measured = as_measured(*law);
  REQUIRE(measured);
  CHECK(measured->period(0) == 4);
  CHECK(measured->period(7) == 3);
  CHECK(as_measured(*two_learners().law())->period(0) == 0);

  const auto one = two_learners().law(R"(, "mode": "replay")");
  CHECK(first_draws(*one, 0, 8) == std::vector<double>{1, 2, 10, 3, 20, 30, 4, 1});
  CHECK(first_draws(*one, 1, 8) == first_draws(*one, 0, 8));
}

TEST_CASE("empirical: a block is a run of successive times of one learner, from a random one on") {
  const auto law = two_learners().law(by_learner + std::string(R"(, "mode": "block", "block": 3)"));
  CHECK(law->has_memory());
  const auto x = first_draws(*law, 2, 3000);
  std::vector<int> starts(5);
  for (std::size_t i = 0; i < x.size(); i += 3) {
    ++starts.at(static_cast<std::size_t>(x[i]));
    for (std::size_t j = i; j < i + 2; ++j) CHECK(x[j + 1] == (x[j] < 4 ? x[j] + 1 : 1));
  }
  // 1000 starts, each of 4 places with probability 1/4: 4 standard deviations are 55.
  for (std::size_t at = 1; at <= 4; ++at) CHECK(std::abs(starts[at] - 250) <= 55);
  CHECK(first_draws(*law, 2, 30) != first_draws(*law, 0, 30));
  CHECK(first_draws(*law, 2, 30, 1) != first_draws(*law, 2, 30));
  CHECK(first_draws(*law, 2, 30) == first_draws(*law, 2, 30));
}

TEST_CASE("empirical: a bootstrap takes no notice of who took a time") {
  const auto x = first_draws(*two_learners().law(by_learner), 0, 7000);
  for (const double time : {1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0}) {
    // 4 standard deviations of a binomial count.
    CHECK(std::abs(std::count(x.begin(), x.end(), time) - 1000) <= 117);
  }
}

/// Of the series, by its mean over one whole turn, the first time following the last.
double circular_autocorrelation(const std::vector<double>& x) {
  double mean = 0, products = 0, squares = 0;
  for (const double value : x) mean += value / static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    products += (x[i] - mean) * (x[(i + 1) % x.size()] - mean);
    squares += (x[i] - mean) * (x[i] - mean);
  }
  return products / squares;
}

// In a block of L, L - 1 of L pairs are neighbours of the trace, the others are independent.
TEST_CASE("empirical: blocks keep (L - 1) / L of the autocorrelation, a bootstrap none") {
  const std::string learner = R"({"distribution": "empirical", "path": "times.csv",
                                  "column": "time", "learner_column": "learner", "mode": )";
  const auto replay = law_of(learner + R"("replay"})");
  const double known = circular_autocorrelation(first_draws(*replay, 1, 60));
  CHECK(known > 0.4);
  constexpr std::uint32_t n = 200'000;
  for (const std::uint32_t block : {1u, 2u, 20u}) {
    const auto law = law_of(learner + R"("block", "block": )" + std::to_string(block) + "}");
    const double seen = circular_autocorrelation(first_draws(*law, 1, n));
    // 4 standard errors with blocks as the independent units, each of a spread of at most 1.
    CHECK(std::abs(seen - known * (block - 1) / block) <= 4 * std::sqrt(block / double{n}));
  }
}

TEST_CASE("empirical: what is wrong is said at the key that is wrong") {
  const std::string file = two_learners().json();
  const std::string place = file.substr(file.find('/'), file.find("t.csv") + 5 - file.find('/'));
  const auto complaint = [](const std::string& json) {
    const auto result = read_law(json);
    CHECK(result.law == nullptr);
    REQUIRE(result.problems.size() == 1);
    const auto text = result.problems.front().text();
    return text.substr(text.find("error: ") + 7);
  };
  CHECK(complaint(R"({"distribution": "empirical", "path": "no/t.csv", "column": "t"})") ==
        "runtime.path: no file \"no/t.csv\": looked at " +
            (std::filesystem::absolute("scenarios") / "no/t.csv").string() +
            "; --data or GRADRACE_DATA name a data folder");
  CHECK(complaint(R"({"distribution": "empirical", "path": ".", "column": "t"})")
            .starts_with("runtime.path: no file \".\""));
  CHECK(complaint(two_learners().json(R"(, "learner_column": "ll")")) ==
        "runtime.learner_column: " + place +
            " has no column \"ll\"\n    allowed: l, t; did you mean \"l\"?");
  CHECK(complaint(Measurement("t\n1\n0\n").json())
            .ends_with("t.csv:3: t must be a time, got \"0\"\n    allowed: a finite number > 0"));
  CHECK(complaint(
            two_learners().json(by_learner + std::string(R"(, "mode": "block", "block": 4)"))) ==
        "runtime.block: is longer than the 3 times of learner 1\n    allowed: 1 to 3");
  CHECK(complaint(two_learners().json(R"(, "mode": "block", "block": 8)")) ==
        "runtime.block: is longer than the 7 times\n    allowed: 1 to 7");
  CHECK(complaint(two_learners().json(R"(, "mode": "again")"))
            .starts_with("runtime.mode: unknown value \"again\""));
  CHECK(
      complaint(two_learners().json(R"(, "scale": 0)")).starts_with("runtime.scale: must be > 0"));
  CHECK(complaint(R"({"distribution": "mixture", "weights": [1], "parts": [)" +
                  two_learners().json(R"(, "mode": "replay")") + "]}") ==
        "runtime.parts: must each be drawn independently\n    allowed: of an empirical part: mode "
        "bootstrap");
}

TEST_CASE("empirical: laws of one file share its times, and a file that changed is read again") {
  const Measurement file("t\n1\n");
  {
    const auto law = file.law();
    const auto other = file.law(R"(, "scale": 2)");
    CHECK(as_measured(*law)->traces() == as_measured(*other)->traces());
  }
  file.rewrite("t\n5\n");
  CHECK(file.law()->mean() == 5);
}

TEST_CASE("empirical: a mixture names the traces of its parts") {
  const auto mixture = law_of(R"({"distribution": "mixture", "weights": [1, 1], "parts": [
      {"distribution": "exponential", "mean": 1}, )" +
                              five().json() + "]}");
  const auto traces = as_measured(*mixture)->traces();
  REQUIRE(traces.size() == 1);
  CHECK(traces.front()->size() == 5);
  CHECK(as_measured(*law_of(R"({"distribution": "exponential", "mean": 1})")) == nullptr);
}

TEST_CASE("empirical: a roofline names the trace of its jitter") {
  const auto roofline =
      law_of(R"({"distribution": "roofline", "flop": 1, "flop_rate": 2, "jitter": )" +
             five().json() + "}");
  CHECK(as_measured(*roofline)->traces().front()->size() == 5);
}

/// Sixty times of each of four learners: speed times exp(slow part + fast part), the slow part an
/// AR(1) of correlation 0.7 and standard deviation 0.1, the fast one independent, 0.05; four
/// decimals.
std::string times_csv() {
  constexpr double usual[] = {1, 1.05, 1.1, 1.3}, correlation = 0.7, slow = 0.1, fast = 0.05;
  std::string text = "learner,time\n";
  double state[4];
  for (std::uint32_t draw = 0; draw < 60; ++draw) {
    for (std::uint32_t learner = 0; learner < 4; ++learner) {
      auto words =
          stream({.seed = 1, .purpose = Purpose::dataset, .learner = learner, .draw = draw});
      boost::random::normal_distribution<double> normal;
      const double shock = normal(words);
      state[learner] = draw == 0 ? slow * shock
                                 : correlation * state[learner] +
                                       slow * std::sqrt(1 - correlation * correlation) * shock;
      char line[32];
      std::snprintf(line, sizeof line, "%u,%.4f\n", learner,
                    usual[learner] * std::exp(state[learner] + fast * normal(words)));
      text += line;
    }
  }
  return text;
}

TEST_CASE("scenarios/times.csv: the example of a trace is what its recipe gives") {
  std::ifstream file("scenarios/times.csv", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(text == times_csv());
}

}  // namespace
}  // namespace gradrace::empirical_test
