#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/claims/claim.h"
#include "tests/race_text.h"

using namespace gradrace;

// The timing model of Sync-Switch, as the scenarios of its folder have it, against the times in the
// authors' released logs.

namespace {

const char* const logs = "Li et al. 2021, released logs";
const char* const figures = "Li et al. 2021, figures";

Scenario paper(const std::string& name) {
  return read_scenario("scenarios/papers/li2021/" + name + ".json", {});
}

/// What the updates of a run were made of.
class Parts : public Observer {
 public:
  void on_update(const UpdateFacts& update) override {
    const auto gradients = static_cast<std::uint64_t>(update.gradients.size());
    const bool is_sync = gradients > 1;
    switches += was_sync_ != is_sync && applied > 0;
    was_sync_ = is_sync;
    applied += gradients;
    if (is_sync) together += gradients;
    if (is_sync) last_sync = update.time;
  }
  std::uint64_t applied = 0, together = 0, switches = 0;
  double last_sync = 0;

 private:
  bool was_sync_ = true;
};

/// The time of each so many updates.
class Windows : public Observer {
 public:
  explicit Windows(std::uint64_t updates) : updates_(updates) {}
  void on_start() override { begin_ = 0; }
  void on_update(const UpdateFacts& update) override {
    if (update.update % updates_ != 0) return;
    if (update.update > updates_) lengths.push_back(update.time - begin_);
    begin_ = update.time;
  }
  std::vector<double> lengths;  // but the first, which begins in step

 private:
  std::uint64_t updates_;
  double begin_ = 0;
};

/// Standard deviation over mean of the time of so many updates.
double variation(const Point& point, std::uint64_t updates) {
  const Race race = point.race();
  Windows windows(updates);
  for (std::uint32_t replica = 0; replica < point.replicas; ++replica)
    run_timing(race, replica, &windows);
  double sum = 0, squares = 0;
  for (const double x : windows.lengths) sum += x, squares += x * x;
  const double n = static_cast<double>(windows.lengths.size());
  return std::sqrt(squares / n - sum * sum / (n * n)) / (sum / n);
}

/// Mean time of the runs of a point.
double mean_time(const Point& point) {
  const Race race = point.race();
  double sum = 0;
  for (std::uint32_t replica = 0; replica < point.replicas; ++replica)
    sum += run_timing(race, replica).totals.time;
  return sum / point.replicas;
}

std::vector<double> mean_times(const std::string& scenario) {
  std::vector<double> times;
  for (const auto& point : paper(scenario).points) times.push_back(mean_time(point));
  return times;
}

struct Total {
  std::size_t point;
  const char* what;
  double measured;
};

struct Share {
  std::size_t point;
  double share, measured;
};

void check_totals(const std::string& setup, const std::vector<double>& times,
                  const std::vector<Total>& totals) {
  for (const auto& [point, what, measured] : totals) {
    claim({"li2021-total." + setup + "." + id_part(what), logs,
           "setup " + setup + ", " + what + ": seconds", about(measured, 0.05 * measured),
           times[point]});
  }
}

/// Shares of the work done in BSP against time over that of BSP, which is the last point's.
void check_shares(const std::string& setup, const std::vector<double>& times,
                  const std::vector<Share>& shares) {
  for (const auto& [point, share, measured] : shares) {
    claim({"li2021-T3." + setup + "." + std::to_string(std::lround(1e4 * share)), logs,
           "setup " + setup + ", BSP for " + std::to_string(std::lround(1e4 * share)) +
               "/10,000 of the work: time over that of BSP",
           about(measured, 0.02), times[point] / times.back()});
  }
}

}  // namespace

TEST_CASE("li2021: setup 1, times of runs") {
  const auto times = mean_times("setup1_how_long_is_a_run");
  REQUIRE(times.size() == 12);
  check_totals("1", times, {{0, "asp", 1560}, {3, "switch at 5 %", 2055}, {11, "bsp", 10660}});
  check_shares("1", times,
               {{0, 0, 0.152},
                {1, 0.02, 0.168},
                {2, 0.04, 0.186},
                {3, 0.05, 0.195},
                {4, 0.0625, 0.197},
                {5, 0.1, 0.238},
                {6, 0.15, 0.281},
                {7, 0.2, 0.324},
                {8, 0.25, 0.367},
                {9, 0.5, 0.581},
                {10, 0.75, 0.80}});
  claim({"li2021-T1.1", logs, "setup 1: throughput of ASP over BSP", about(6.8, 0.05 * 6.8),
         times[11] / times[0]});
  claim({"li2021-T4.1", figures, "setup 1, switch at 6.25 %: BSP's time over that of Sync-Switch",
         from_to(4.8, 5.3), times[11] / times[4]});
  claim({"li2021-T5.1", figures, "setup 1, switch at 5 %: time of Sync-Switch over that of ASP",
         about(1.28, 0.05 * 1.28), times[3] / times[0]});
}

TEST_CASE("li2021: setup 2, times of runs") {
  const auto times = mean_times("setup2_how_long_is_a_run");
  REQUIRE(times.size() == 6);
  check_totals("2", times, {{0, "asp", 6070}, {2, "switch at 12.5 %", 6790}, {5, "bsp", 11288}});
  check_shares(
      "2", times,
      {{0, 0, 0.538}, {1, 0.0625, 0.569}, {2, 0.125, 0.6015}, {3, 0.25, 0.646}, {4, 0.5, 0.754}});
  claim({"li2021-T1.2", logs, "setup 2: throughput of ASP over BSP", about(1.86, 0.05 * 1.86),
         times[5] / times[0]});
  claim({"li2021-T4.2", figures, "setup 2, switch at 12.5 %: BSP's time over that of Sync-Switch",
         from_to(1.6, 1.75), times[5] / times[2]});
  claim({"li2021-T5.2", figures, "setup 2, switch at 12.5 %: time of Sync-Switch over that of ASP",
         about(1.12, 0.05 * 1.12), times[2] / times[0]});
}

TEST_CASE("li2021: setup 3, times of runs") {
  const auto times = mean_times("setup3_how_long_is_a_run");
  REQUIRE(times.size() == 4);
  check_totals("3", times, {{0, "asp", 794}, {2, "switch at 50 %", 5090}, {3, "bsp", 9298}});
  check_shares("3", times, {{2, 0.5, 0.536}});
  claim({"li2021-T1.3", logs, "setup 3: throughput of ASP over BSP", from_to(11, 12),
         times[3] / times[0]});
  claim({"li2021-T4.3", figures, "setup 3, switch at 50 %: BSP's time over that of Sync-Switch",
         from_to(1.8, 1.95), times[3] / times[2]});
}

TEST_CASE("li2021: throughput against the number of learners") {
  const auto scenario = paper("does_throughput_grow_with_learners");
  const double images[] = {759, 768, 842, 2420, 5250, 10300};  // a second; 842: of 803 to 881
  REQUIRE(scenario.points.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    const double measured = 128.0 * 64000 / mean_time(scenario.points[i]);
    claim({"li2021-T2." + std::to_string(i), logs,
           std::string(i < 3 ? "BSP" : "ASP") + " on " + std::to_string(4 << i % 3) +
               " learners: images a second",
           about(images[i], 0.1 * images[i]), measured});
  }
}

TEST_CASE("li2021: latency lengthens a synchronous step more than an asynchronous cycle") {
  const auto times = mean_times("who_suffers_from_latency");
  REQUIRE(times.size() == 10);
  const auto slowdown = [&](const char* id, const char* what, double measured, double fit,
                            double found) {
    claim({std::string("li2021-S1.") + id, logs, what, about(measured, 0.05 * measured), found});
    claim({std::string("li2021-S1.fit.") + id, "derived: 1.272 + 16 d, 0.19 + 2.2 d", what,
           about(fit, 0.001), found});
  };
  slowdown("bsp.10", "BSP, 1 x 10 ms: step over one without", 1.12, 1 + 0.16 / 1.272,
           times[1] / times[0]);
  slowdown("bsp.60", "BSP, 2 x 30 ms: step over one without", 1.79, 1 + 0.96 / 1.272,
           times[4] / times[0]);
  slowdown("asp.10", "ASP, 1 x 10 ms: cycle over one without", 1.11, 1 + 0.022 / 0.19,
           times[6] / times[5]);
}

TEST_CASE("li2021: windows of steps and of updates vary as little as measured") {
  const auto scenario = paper("how_much_do_windows_vary");
  claim({"li2021-T7.bsp", logs, "BSP: sd over mean of the time of 100 steps", from_to(0.001, 0.002),
         variation(scenario.points[0], 100)});
  claim({"li2021-T7.asp", logs, "ASP: sd over mean of the time of 137 updates",
         from_to(0.005, 0.015), variation(scenario.points[1], 137)});
  // Renewals in equilibrium: the count of each of 8 learners varies by cv^2 its mean and 1/6.
  claim({"li2021-T7.asp.renewal", "derived", "the same, by renewal theory",
         about(std::sqrt(0.12 * 0.12 / 137 + 8.0 / 6 / 137 / 137), 0.001),
         variation(scenario.points[1], 137)});
}

TEST_CASE("li2021: the cost of the switch") {
  const auto first = mean_times("setup1_what_does_the_switch_cost"),
             second = mean_times("setup2_what_does_the_switch_cost"),
             third = mean_times("setup3_what_does_the_switch_cost");
  claim({"li2021-O1.1", figures, "setup 1, 36 s: share of the run", about(0.0175, 0.001),
         36 / first[1]});
  claim({"li2021-O1.2", figures, "setup 2, 100 s: share of the run", about(0.016, 0.0015),
         100 / second[2]});
  claim({"li2021-O1.long", figures, "36 s: the longer run's share is the smaller, setups 1, 3, 2",
         exactly(1), double(first[1] < third[1] && third[1] < second[1])});
  for (const auto* times : {&first, &second, &third}) {
    const std::string setup = times == &first ? "1" : times == &second ? "2" : "3";
    claim({"li2021-O2." + setup, "derived",
           "setup " + setup + ": seconds more than in a run whose switch is free", about(36, 1e-6),
           (*times)[1] - (*times)[0]});
  }
}

TEST_CASE("li2021: what online policies do") {
  const char* const names[] = {"baseline", "greedy", "elastic"};
  double times[2][3] = {};
  for (int scenario = 0; scenario < 2; ++scenario) {
    const std::string number = std::to_string(scenario + 1);
    const auto policies = paper("scenario" + number + "_what_do_policies_save");
    REQUIRE(policies.points.size() == 3);
    for (std::size_t policy = 0; policy < 3; ++policy) {
      const Point& point = policies.points[policy];
      const Race race = point.race();
      for (std::uint32_t replica = 0; replica < point.replicas; ++replica) {
        Parts parts;
        times[scenario][policy] += run_timing(race, replica, &parts).totals.time / point.replicas;
        const std::string id = "." + number + "." + names[policy] + "." + std::to_string(replica);
        const std::string what = "scenario " + number + ", " + names[policy] + ": ";
        claim({"li2021-S5" + id, logs, what + "changes of protocol", exactly(policy == 1 ? 3 : 1),
               static_cast<double>(parts.switches)});
        claim({"li2021-S6.all" + id, logs, what + "gradients", exactly(64000),
               static_cast<double>(parts.applied)});
        claim({"li2021-S6.sync" + id, logs, what + "gradients applied together, up to a step",
               from_to(3200, policy == 2 ? 3207 : 3200), static_cast<double>(parts.together)});
      }
    }
  }
  const auto total = [&](int scenario, int policy, double measured) {
    claim({"li2021-total.scenario-" + std::to_string(scenario) + "." + names[policy], logs,
           "scenario " + std::to_string(scenario) + ", " + names[policy] + ": seconds",
           about(measured, 0.05 * measured), times[scenario - 1][policy]});
  };
  total(1, 0, 581 + 1504);
  total(1, 2, 561 + 1511);
  total(2, 0, 734 + 1491);
  total(2, 2, 550 + 1504);
  const auto gain = [&](int scenario, int policy, const char* source, const Expected& expected) {
    claim({"li2021-S2." + std::to_string(scenario) + "." + names[policy], source,
           "scenario " + std::to_string(scenario) + ": time of the baseline over " + names[policy],
           expected, times[scenario - 1][0] / times[scenario - 1][policy]});
  };
  // Steps 1.126 times as long for 100 s lose 11.2 s of 2011, which is all that can be saved: the
  // figure's 1 to 3 % are more than the latency costs.
  gain(1, 1, "derived", from_to(1, 1 + 11.2 / 2000));
  gain(1, 2, "derived", from_to(1, 1 + 11.2 / 2000));
  gain(2, 2, logs, about(2225.0 / 2054, 0.02));  // 1.11 in the figure, whose baseline has a gap
  claim({"li2021-S4.elastic", logs, "elastic: time in scenario 2 over that in 1",
         about(2054.0 / 2072, 0.02), times[1][2] / times[0][2]});
  claim({"li2021-S4.baseline", logs, "baseline: time in scenario 2 over that in 1",
         about(2225.0 / 2085, 0.02), times[1][0] / times[0][0]});
}
