#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>

#include "protocols/rejoining_step.h"
#include "tests/support/iteration_time.h"
#include "tests/support/skip.h"

namespace gradrace::unequal_learners_test {

namespace {

Point point_of(const std::string& cluster, const std::string& protocol, bool network = true) {
  const std::string mesh =
      network ? R"(, "network": {"topology": "mesh", "latency": 0.05})" : std::string();
  return point_from(R"({"cluster": {"learners": 6, )" + cluster + mesh + R"(}, "protocol": )" +
                    protocol + R"(, "model": {"kind": "softmax", "minibatch": 4, "dataset":
                        {"kind": "synthetic", "rows": 10}}, "timing_only": true,
                        "stop": {"updates": 18000}})");
}

const char* const speeds = R"("runtime": {"distribution": "exponential", "mean": 1},
    "speeds": [1, 1, 0.2, 1, 1, 2])";
const char* const speeds_and_rate = R"("runtime": {"distribution": "exponential", "mean": 1},
    "speeds": [1, 1, 0.2, 1, 1, 2], "rate": 2)";
const char* const laws = R"("runtimes": [
    {"distribution": "gamma", "shape": 4, "scale": 0.25},
    {"distribution": "exponential", "mean": 2}, {"distribution": "deterministic", "value": 2.5}])";

/// Whether it is the turn of a case: in the short form of every second one.
bool is_due(std::size_t& number) { return number++ % 2 == 0 || is_long_form(); }

/// All learners of these wait for the slowest.
const std::string wait_for_all[] = {
    R"({"kind": "all-reduce"})",
    R"({"kind": "all-reduce", "buckets": 4})",
    R"({"kind": "local-sgd", "tau": 1})",
    R"({"kind": "local-sgd", "tau": 5})",
    R"({"kind": "dasgd", "tau": 5, "delay": 0})",
    R"({"kind": "partial-reduce", "group": 6})",
    R"({"kind": "ripples", "schedule": "group-division", "group": 6})",
    R"({"kind": "ripples", "schedule": "group-buffer", "group": 6})"};

/// And nobody waits with these.
const std::string wait_for_nobody[] = {
    R"({"kind": "partial-reduce", "group": 1})",
    R"({"kind": "ripples", "schedule": "random", "group": 1})",
    R"({"kind": "ripples", "schedule": "group-division", "group": 1})"};

}  // namespace

TEST_CASE("unequal learners: iteration times of those who wait for the slowest, as simulated") {
  std::size_t number = 0;
  for (const auto* cluster : {speeds, speeds_and_rate, laws}) {
    CAPTURE(cluster);
    number += cluster == laws;  // those that are left out with speeds
    for (const std::string& protocol : wait_for_all) {
      if (!is_due(number)) continue;
      CAPTURE(protocol);
      const Point point = point_of(cluster, protocol);
      if (cluster == speeds_and_rate && !point.theory().iteration_time) continue;
      REQUIRE(point.theory().iteration_time);
      const auto [value, basis] = *point.theory().iteration_time;
      CHECK(basis == Basis::exact);
      check_iteration_time(point.race(), value);
    }
    const Point sync = point_of(cluster, R"({"kind": "sync"})", false);
    CHECK(sync.theory().iteration_time->basis == Basis::exact);
    check_iteration_time(sync.race(), sync.theory().iteration_time->value);
  }
}

TEST_CASE("unequal learners: iteration times of those who never wait, as simulated") {
  for (const auto* cluster : {speeds, laws}) {
    for (const std::string& protocol : wait_for_nobody) {
      CAPTURE(protocol);
      const Point point = point_of(cluster, protocol);
      CHECK(point.theory().iteration_time->basis == Basis::exact);
      check_iteration_time(point.race(), point.theory().iteration_time->value);
    }
  }
  // Rates 1, 1, 0.2, 1, 1, 2.
  CHECK(point_of(speeds, wait_for_nobody[0]).theory().iteration_time->value ==
        doctest::Approx(1 / 6.2).epsilon(1e-12));
}

TEST_CASE("unequal learners: iteration times with a server, as simulated") {
  std::size_t number = 0;
  for (const auto* cluster : {speeds, laws}) {
    for (const std::string protocol :
         {R"({"kind": "async"})", R"({"kind": "k-sync", "k": 2})", R"({"kind": "k-sync", "k": 5})",
          R"({"kind": "k-batch-sync", "k": 1})", R"({"kind": "k-batch-async", "k": 3})",
          R"({"kind": "softsync", "n": 2})", R"({"kind": "ssp", "bound": 0})",
          R"({"kind": "k-async", "k": 1})", R"({"kind": "k-async", "k": 6})",
          R"({"kind": "backup", "backups": 0})",
          R"({"kind": "backup", "backups": 2, "late": "cancel"})"}) {
      if (!is_due(number)) continue;
      CAPTURE(protocol);
      const Point point = point_of(cluster, protocol, false);
      REQUIRE(point.theory().iteration_time);
      CHECK(point.theory().iteration_time->basis == Basis::exact);
      check_iteration_time(point.race(), point.theory().iteration_time->value);
    }
  }
}

TEST_CASE("unequal learners: late ones that rejoin have an exact time where laws are memoryless") {
  const std::string rejoin = R"({"kind": "backup", "backups": 2})";
  const Point exact = point_of(speeds, rejoin, false), bounded = point_of(laws, rejoin, false);
  CHECK(exact.theory().iteration_time->basis == Basis::exact);
  check_iteration_time(exact.race(), exact.theory().iteration_time->value);
  const auto bound = *bounded.theory().iteration_time;
  CHECK(bound.basis == Basis::lower);
  CHECK(iteration_time(run_timing(bounded.race())) >= 0.98 * bound.value);

  // Two learners of rates 1 and r, one gradient: who delivers begins fresh, the other one late.
  // From the first late it takes 1 / (1 + r) to the next end; the second delivers with r / (1 + r),
  // else both are fresh and it takes as long again.
  const double r = 0.25, q = r / (1 + r);
  const double first_late = (1 + (1 - q)) / (1 + r), second_late = (1 + q) / (1 + r);
  // The first delivers, so that the second is late, with (1 - q)^2 from the first late (it rejoins,
  // then is first) and 1 - q + q (1 - q) from the second late.
  const double to_second = (1 - q) * (1 - q), stays = 1 - q + q * (1 - q);
  const double second = to_second / (to_second + 1 - stays);
  CHECK(*rejoining_step({1, 1 / r}, 1) ==
        doctest::Approx((1 - second) * first_late + second * second_late).epsilon(1e-12));
  const char* const equal = R"("runtime": {"distribution": "exponential", "mean": 1})";
  CHECK(*rejoining_step(std::vector<double>(6, 1.0), 4) ==
        doctest::Approx(point_of(equal, rejoin, false).theory().iteration_time->value));
  std::vector<double> all_different(30);
  for (std::size_t i = 0; i < 30; ++i) all_different[i] = 1 + 0.1 * static_cast<double>(i);
  CHECK_FALSE(rejoining_step(all_different, 15));
}

TEST_CASE("unequal learners: bounds with a server hold") {
  const std::pair<std::string, Basis> bounds[] = {
      {R"({"kind": "k-batch-sync", "k": 4})", Basis::upper},
      {R"({"kind": "k-async", "k": 4})", Basis::lower},
      {R"({"kind": "ssp", "bound": 2})", Basis::lower},
      {R"({"kind": "backup", "backups": 2, "late": "wait"})", Basis::lower},
      {R"({"kind": "backup", "backups": 2, "tokens": "shared"})", Basis::lower}};
  for (const auto* cluster : {speeds, laws}) {
    for (const auto& [protocol, basis] : bounds) {
      CAPTURE(protocol);
      const Point point = point_of(cluster, protocol, false);
      const auto theory = point.theory();
      REQUIRE(theory.iteration_time);
      CHECK(theory.iteration_time->basis == basis);
      const double ratio = iteration_time(run_timing(point.race())) / theory.iteration_time->value;
      if (basis == Basis::lower) CHECK(ratio >= 0.98);
      if (basis == Basis::upper) CHECK(ratio <= 1.02);
    }
  }
}

TEST_CASE("unequal learners: what would take too long to integrate is not known") {
  const auto theory = [](int learners, int k) {
    return point_from(R"({"cluster": {"learners": )" + std::to_string(learners) + R"(,
        "runtime": {"distribution": "exponential", "mean": 1},
        "slow": {"learners": [0], "factor": 2}},
        "protocol": {"kind": "k-sync", "k": )" +
                      std::to_string(k) + R"(},
        "stop": {"updates": 1}})")
        .theory()
        .iteration_time;
  };
  CHECK(theory(1000, 2));
  CHECK_FALSE(theory(1000, 999));
  CHECK(theory(1000, 1000));
}

// E[max] of exponential laws of rates a and b is 1 / a + 1 / b - 1 / (a + b); of means 1, 1 and 5
// it is 7 - 1/2 - 2 / (1.2) + 1 / 2.2.
TEST_CASE("unequal learners: all-reduce by hand") {
  const auto theory = [](const std::string& list) {
    return point_from(R"({"cluster": {"learners": 3, "speeds": )" + list + R"(,
        "runtime": {"distribution": "exponential", "mean": 1}},
        "protocol": {"kind": "all-reduce"}, "stop": {"updates": 1}})")
        .theory();
  };
  CHECK(theory("[1, 1, 0.2]").iteration_time->value ==
        doctest::Approx(7 - 0.5 - 2 / 1.2 + 1 / 2.2).epsilon(1e-9));
  CHECK(theory("[1, 1, 1]").iteration_time->value == doctest::Approx(11 / 6.0).epsilon(1e-12));
}

TEST_CASE("unequal learners: bounds hold") {
  for (const auto* cluster : {speeds, laws}) {
    for (const auto* protocol :
         {R"({"kind": "dasgd", "tau": 4, "delay": 2})", R"({"kind": "partial-reduce", "group": 3})",
          R"({"kind": "ripples", "schedule": "random"})",
          R"({"kind": "ripples", "schedule": "inter-intra"})"}) {
      CAPTURE(protocol);
      const Point point = point_of(cluster, protocol);
      const auto [value, basis] = *point.theory().iteration_time;
      CHECK(basis == Basis::lower);
      CHECK(iteration_time(run_timing(point.race())) >= 0.98 * value);
    }
  }
}

TEST_CASE("unequal learners: nothing is said where draws depend on each other") {
  for (const auto* more : {R"("persistence": {"kind": "ar1", "correlation": 0.9, "sd": 0.2})",
                           R"("windows": [{"start": 9, "factor": 2}])"}) {
    for (const std::string& protocol : wait_for_all)
      CHECK_FALSE(point_of(speeds + std::string(", ") + more, protocol).theory().iteration_time);
    const char* const at_the_end = R"({"kind": "dasgd", "tau": 2, "delay": 2})";
    CHECK_FALSE(point_of(speeds + std::string(", ") + more, at_the_end).theory().iteration_time);
  }
  // Sums of lognormal minibatches have no law of a closed form.
  CHECK_FALSE(point_of(R"("runtime": {"distribution": "lognormal", "mu": 0, "sigma": 1},
                          "speeds": [1, 2])",
                       wait_for_all[3])
                  .theory()
                  .iteration_time);
}

}  // namespace gradrace::unequal_learners_test
