#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

namespace gradrace::staleness_bound_test {

namespace {

std::string bounded(const std::string& protocol, std::uint32_t bound, const std::string& beyond) {
  return "{" + protocol + R"(, "max_staleness": {"bound": )" + std::to_string(bound) +
         R"(, "beyond": ")" + beyond + R"("}})";
}

const std::string async = R"("kind": "async")";

}  // namespace

TEST_CASE("max_staleness: of two learners that take 1 and 2.5 the slow one's are dropped") {
  // R = 2 of Ringmaster: at 2.5 and at 5, before the other's fifth, they are 2 updates old.
  CHECK(schedule(bounded(async, 1, "drop"), 2, {1, 2.5, 1, 1, 2.5, 1, 1, 1, 9}, 5) ==
        std::vector<std::string>{"0 dispatch 0@0",    "0 dispatch 1@0",    "1 arrive 0@0",
                                 "1 update 1: 0@0+0", "1 dispatch 0@1",    "2 arrive 0@1",
                                 "2 update 2: 0@1+0", "2 dispatch 0@2",    "2.5 drop 1@0",
                                 "2.5 dispatch 1@2",  "3 arrive 0@2",      "3 update 3: 0@2+0",
                                 "3 dispatch 0@3",    "4 arrive 0@3",      "4 update 4: 0@3+0",
                                 "4 dispatch 0@4",    "5 drop 1@2",        "5 dispatch 1@4",
                                 "5 arrive 0@4",      "5 update 5: 0@4+0", "5 dispatch 0@5"});
}

TEST_CASE("max_staleness: paced at 1, two of three compute, and the faster waits for the slower") {
  CHECK(schedule(bounded(async, 1, "pace"), 3, {1, 5, 1, 9, 9}, 3) ==
        std::vector<std::string>{"0 dispatch 0@0", "0 dispatch 1@0", "1 arrive 0@0",
                                 "1 update 1: 0@0+0", "1 dispatch 2@1", "5 arrive 1@0",
                                 "5 update 2: 1@0+1", "5 arrive 2@1", "5 update 3: 2@1+1",
                                 "5 dispatch 0@3", "5 dispatch 1@3"});
}

TEST_CASE("max_staleness: the share of gradients that are used, of equal exponential learners") {
  // a of 1 - a = (a (n - 1) / (1 + a (n - 1)))^R, R = bound + 1, which takes the gradients used for
  // a Poisson process; beside it what another simulation of it had.
  struct Row {
    std::uint32_t learners, bound;
    double formula, simulated;
  };
  for (const Row& row : {Row{16, 3, 0.435, 0.432}, Row{64, 7, 0.321, 0.318},
                         Row{64, 63, 0.742, 0.744}, Row{64, 127, 0.895, 0.896}}) {
    const RunRecord record = run_timing(
        race_of(row.learners, bounded(async, row.bound, "drop"), R"({"updates": 300000})"));
    const double applied = static_cast<double>(record.totals.applied);
    const double used = applied / (applied + static_cast<double>(record.totals.dropped));
    CAPTURE(used);
    CHECK(std::abs(used - row.simulated) <= 0.003);  // standard errors are below 0.001
    CHECK(std::abs(used - row.formula) <= 0.004);
    const Theory theory =
        theory_of(race_of(row.learners, bounded(async, row.bound, "drop"), R"({"updates": 1})"));
    CHECK(theory.iteration_time->basis == Basis::approximate);
    CHECK(std::abs(1 / (row.learners * theory.iteration_time->value) - row.formula) <= 0.0005);
  }
}

TEST_CASE("max_staleness: no gradient is used that is staler, and paced none is lost") {
  for (const std::string& protocol : {async, std::string(R"("kind": "k-async", "k": 4)"),
                                      std::string(R"("kind": "k-batch-async", "k": 4)"),
                                      std::string(R"("kind": "k-batch-async", "k": 40)")}) {
    for (const std::uint32_t bound : {0u, 1u, 2u, 5u, 20u}) {
      for (const char* beyond : {"drop", "pace"}) {
        for (const char* law : {exponential_1, hyperexponential_mean_1,
                                R"({"distribution": "deterministic", "value": 1})"}) {
          const RunRecord record = run_timing(
              race_of(16, bounded(protocol, bound, beyond), R"({"updates": 2000})", law));
          CAPTURE(protocol);
          CAPTURE(bound);
          CAPTURE(beyond);
          CHECK(record.totals.updates == 2000);
          CHECK(record.totals.max_staleness <= bound);
          if (beyond == std::string("pace")) CHECK(record.totals.dropped == 0);
        }
      }
    }
  }
}

TEST_CASE("max_staleness: one that no gradient reaches changes nothing") {
  for (const std::string& protocol : {async, std::string(R"("kind": "k-async", "k": 3)"),
                                      std::string(R"("kind": "k-batch-async", "k": 3)")}) {
    const auto free = events("{" + protocol + "}", 8, 500);
    for (const char* beyond : {"drop", "pace"})
      CHECK(events(bounded(protocol, 100000, beyond), 8, 500) == free);
  }
}

TEST_CASE("max_staleness: paced at 0 an update waits for all that compute") {
  // One learner at a time; the slowest of four.
  check_iteration_time(bounded(async, 0, "pace"), 1);
  for (const std::string kind : {"k-async", "k-batch-async"})
    check_iteration_time(bounded(R"("kind": ")" + kind + R"(", "k": 4)", 0, "pace"),
                         1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0);
}

TEST_CASE("max_staleness: paced, with a network, a busy server and failures, runs go on") {
  for (const char* beyond : {"drop", "pace"}) {
    const Point point = point_from(
        R"({"cluster": {"learners": 12, "runtime": {"distribution": "exponential", "mean": 1},
          "network": {"pull": {"distribution": "exponential", "mean": 0.2}, "bandwidth": 1e9,
                      "model_bytes": 1e6},
          "server": {"per_update": 0.05},
          "failures": {"up": {"distribution": "exponential", "mean": 30},
                       "down": {"distribution": "exponential", "mean": 3}}},
        "protocol": )" +
        bounded(R"("kind": "k-batch-async", "k": 2)", 3, beyond) +
        R"(, "stop": {"updates": 5000}})");
    const RunRecord record = run_timing(point.race());
    CHECK(record.totals.updates == 5000);
    CHECK(record.totals.max_staleness <= 3);
    CHECK(record.totals.lost > 0);
  }
}

TEST_CASE("max_staleness: paced, those who are down are not waited for") {
  // Up for 50 and down for 200 on average, twenty minibatches in any order at the bound.
  const auto updates = [](const char* beyond) {
    const Point point = point_from(
        R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1},
          "failures": {"up": {"distribution": "exponential", "mean": 50},
                       "down": {"distribution": "exponential", "mean": 200}}},
        "protocol": )" +
        bounded(async, 16, beyond) + R"(, "stop": {"time": 2000}})");
    const RunRecord record = run_timing(point.race());
    CHECK(record.totals.max_staleness <= 16);
    return static_cast<double>(record.totals.updates);
  };
  CHECK(updates("pace") > 0.8 * updates("drop"));
}

}  // namespace gradrace::staleness_bound_test
