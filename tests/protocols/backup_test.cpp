#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "distributions/order_statistics.h"
#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

namespace gradrace::backup_test {

namespace {

std::string backup(std::uint32_t backups, const std::string& more = "") {
  return R"({"kind": "backup", "backups": )" + std::to_string(backups) + more + "}";
}

const std::string wait = R"(, "late": "wait")", cancel = R"(, "late": "cancel")",
                  shared = R"(, "tokens": "shared")";

/// Checks every update: n gradients of the current version.  Counts what is dropped in a step.
class FreshUpdates : public Observer {
 public:
  explicit FreshUpdates(std::size_t n) : n_(n) {}
  void on_end(const GradientFacts& gradient, double, double, Ending ending) override {
    REQUIRE(ending != Ending::cancelled);
    if (ending == Ending::accepted) return;
    REQUIRE(gradient.version <= version_);
    most_dropped = std::max(most_dropped, ++dropped_);
  }
  void on_update(const UpdateFacts& update) override {
    REQUIRE(update.gradients.size() == n_);
    std::vector<bool> seen(64);
    for (const auto& gradient : update.gradients) {
      REQUIRE(gradient.version == version_);
      if (seen[gradient.learner]) ++repeats;
      seen[gradient.learner] = true;
    }
    ++version_;
    dropped_ = 0;
  }
  std::uint32_t most_dropped = 0;
  std::uint64_t repeats = 0;  // gradients of a learner that is in the update already

 private:
  std::size_t n_;
  std::uint32_t version_ = 0, dropped_ = 0;
};

double binomial(std::uint32_t n, std::uint32_t k, double p) {
  return (k == 0 ? 1.0 : at_least_k_of_n(k, n, p)) - (k == n ? 0.0 : at_least_k_of_n(k + 1, n, p));
}

/// Mean of the n-th smallest of n exponential times of mean 1 and b sums of two: the integral of
/// P(fewer than n are over at t), by the midpoint rule.
double nth_of_fresh_and_late(std::uint32_t n, std::uint32_t b) {
  constexpr double step = 0.002;
  double sum = 0;
  for (double t = step / 2; t < 40; t += step) {
    const double fresh = -std::expm1(-t), late = 1 - (1 + t) * std::exp(-t);
    for (std::uint32_t j = 0; j <= b && j < n; ++j)
      sum += step * binomial(b, j, late) * (1 - at_least_k_of_n(n - j, n, fresh));
  }
  return sum;
}

/// The mean step of `wait` for exponential times of mean 1.  All that compute are equally likely to
/// finish next, so of the l late learners at the start of a step, w finish before the n-th of the
/// P - l fresh with probability C(n + w - 1, w) C(P - n - w, l - w) / C(P, l); then b - w are late.
double step_of_wait(std::uint32_t n, std::uint32_t b) {
  const auto choose = [](double of, double k) {
    return std::exp(std::lgamma(of + 1) - std::lgamma(k + 1) - std::lgamma(of - k + 1));
  };
  const double p = n + b;
  std::vector<double> share(b + 1, 0.0);  // of steps that start with l late learners
  share[0] = 1;
  for (int turn = 0; turn < 1000; ++turn) {
    std::vector<double> next(b + 1, 0.0);
    for (std::uint32_t l = 0; l <= b; ++l) {
      for (std::uint32_t w = 0; w <= l; ++w)
        next[b - w] += share[l] * choose(n + w - 1, w) * choose(p - n - w, l - w) / choose(p, l);
    }
    share = next;
  }
  double mean = 0;
  for (std::uint32_t l = 0; l <= b; ++l) mean += share[l] * harmonic_difference(n, n + b - l);
  return mean;
}

}  // namespace

TEST_CASE(
    "backup: b = 1, P = 3: a late gradient is dropped, its learner joins the step in progress") {
  CHECK(schedule(backup(1), 3, {1, 2, 2.5, 3, 2, 1, 9, 9}, 2) ==
        std::vector<std::string>{"0 dispatch 0@0", "0 dispatch 1@0", "0 dispatch 2@0",
                                 "1 arrive 0@0", "2 arrive 1@0", "2 update 1: 0@0+0 1@0+0",
                                 "2 dispatch 0@1", "2 dispatch 1@1", "2.5 drop 2@0",
                                 "2.5 dispatch 2@1", "3.5 arrive 2@1", "4 arrive 1@1",
                                 "4 update 2: 2@1+0 1@1+0", "4 dispatch 1@2", "4 dispatch 2@2"});
}

TEST_CASE("backup: wait: a late learner waits for the next version") {
  CHECK(schedule(backup(1, wait), 3, {1, 2, 2.5, 3, 2, 9, 9, 9}, 2) ==
        std::vector<std::string>{"0 dispatch 0@0", "0 dispatch 1@0", "0 dispatch 2@0",
                                 "1 arrive 0@0", "2 arrive 1@0", "2 update 1: 0@0+0 1@0+0",
                                 "2 dispatch 0@1", "2 dispatch 1@1", "2.5 drop 2@0", "4 arrive 1@1",
                                 "5 arrive 0@1", "5 update 2: 1@1+0 0@1+0", "5 dispatch 0@2",
                                 "5 dispatch 1@2", "5 dispatch 2@2"});
}

TEST_CASE(
    "backup: shared tokens: gradients of old tokens are dropped, the blocked are served in order, "
    "a "
    "fast learner takes a slow one's token") {
  CHECK(schedule(backup(1, shared), 3, {1, 2, 4, 2.5, 1, 1.25, 1, 4, 3, 1, 1, 9}, 3) ==
        std::vector<std::string>{"0 dispatch 0@0",
                                 "0 dispatch 1@0",
                                 "0 dispatch 2@0",
                                 "1 arrive 0@0",
                                 "1 dispatch 0@0",  // an extra token of step 0
                                 "2 arrive 1@0",
                                 "2 update 1: 0@0+0 1@0+0",
                                 "2 dispatch 1@1",  // the other one
                                 "3 drop 1@1",
                                 "3 dispatch 1@1",
                                 "3.5 drop 0@0",
                                 "3.5 dispatch 0@1",  // step 1
                                 "4 drop 2@0",
                                 "4 dispatch 2@1",  // the last of step 1
                                 "4.25 arrive 1@1",
                                 "4.5 arrive 0@1",
                                 "4.5 update 2: 1@1+0 0@1+0",
                                 "4.5 dispatch 1@2",
                                 "4.5 dispatch 0@2",  //
                                 "5.5 arrive 0@2",
                                 "5.5 dispatch 0@2",  // in the place of learner 2
                                 "6.5 arrive 0@2",
                                 "6.5 update 3: 0@2+0 0@2+0",
                                 "6.5 dispatch 0@3"});
}

TEST_CASE("backup: cancel is k-sync, no backups are sync, event for event") {
  for (const std::uint32_t b : {0u, 1u, 5u, 7u}) {
    CHECK(events(backup(b, cancel), 8, 500) ==
          events(R"({"kind": "k-sync", "k": )" + std::to_string(8 - b) + "}", 8, 500));
    CHECK(events(R"({"kind": "backup", "k": )" + std::to_string(8 - b) + "}", 8, 500) ==
          events(backup(b), 8, 500));
  }
  for (const auto& late : {std::string(), wait, cancel})
    CHECK(events(backup(0, late), 8, 500) == events(R"({"kind": "sync"})", 8, 500));
}

TEST_CASE("backup: every update has N gradients of the current version, nobody is interrupted") {
  for (const auto& more : {std::string(), wait, shared}) {
    for (const auto* runtime :
         {exponential_1, shifted_exponential_1_1, pareto_2_1, hyperexponential_mean_1}) {
      CAPTURE(more);
      CAPTURE(runtime);
      const Race race = race_of(8, backup(3, more), R"({"updates": 5000})", runtime);
      FreshUpdates updates(5);
      const RunRecord record = run_timing(race, 0, &updates);
      CHECK(record.totals.applied == 25000);
      CHECK(record.totals.dropped > 0);
      if (more == shared) {
        CHECK(updates.repeats > 0);
      } else {
        CHECK(updates.repeats == 0);
        CHECK(updates.most_dropped <= 3);
      }
    }
  }
}

TEST_CASE("backup: shared tokens drop b gradients an update in the long run, for any law") {
  for (const auto* runtime :
       {exponential_1, shifted_exponential_1_1, pareto_2_1, hyperexponential_mean_1}) {
    const Race race = race_of(8, backup(3, shared), R"({"updates": 20000})", runtime);
    const Totals totals = run_timing(race).totals;
    // N extra tokens at the start; at the end at most 2 P are out or in hand.
    CHECK(totals.dropped <= 3 * totals.updates + 5);
    CHECK(totals.dropped + 16 >= 3 * totals.updates);
  }
}

TEST_CASE("backup: the step of the memoryless is exact: rejoin and wait, P = 8") {
  for (const std::uint32_t b : {1u, 3u, 6u}) {
    CAPTURE(b);
    const double expected = nth_of_fresh_and_late(8 - b, b);
    const Race race = race_of(8, backup(b), R"({"updates": 1})");
    const Theory theory = theory_of(race);
    CHECK(std::abs(theory.iteration_time->value - expected) <= 1e-5 * expected);
    check_iteration_time(backup(b), expected);
    check_iteration_time(backup(b, wait), step_of_wait(8 - b, b));
  }
}

TEST_CASE("backup: theory holds for three laws") {
  for (const std::uint32_t b : {0u, 2u, 7u}) {
    for (const auto& more : {std::string(), wait, cancel, shared}) check_theory(backup(b, more));
  }
}

TEST_CASE(
    "backup: a step takes between E[X_{N:P}] and E[X_{N:N}], and waiting takes no less than "
    "rejoining") {
  for (const auto* runtime : {exponential_1, shifted_exponential_1_1, hyperexponential_mean_1}) {
    const auto step = [&](const std::string& more) {
      const Totals totals =
          run_timing(race_of(8, backup(2, more), R"({"updates": 100000})", runtime)).totals;
      return totals.last_update_time / 100000;
    };
    const auto law = race_of(8, backup(2), R"({"updates": 1})", runtime).runtime;
    CAPTURE(runtime);
    CHECK(step({}) >= 0.99 * law->expected_order_statistic(6, 8));
    CHECK(step(wait) >= step({}));
    CHECK(step({}) <= 1.01 * law->expected_order_statistic(6, 6));
    CHECK(step(wait) <= 1.01 * law->expected_order_statistic(6, 6));
  }
}

TEST_CASE("backup: the theory of very many learners is a bound and takes no time") {
  const Race race =
      race_of(1 << 20, R"({"kind": "backup", "backups": 300000})", R"({"updates": 1})");
  const Theory theory = theory_of(race);
  CHECK(theory.iteration_time->basis == Basis::lower);
}

}  // namespace gradrace::backup_test
