#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/claims/claim.h"
#include "tests/support/race_text.h"

using namespace gradrace;

// The timing model of Sync-Switch, as the scenarios of its folder have it, against the times in the
// authors' released logs: seconds, the fit and what each run does.  `gradrace reproduce li2021`
// judges the rest.

namespace {

const char* const logs = "Li et al. 2021, released logs";

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
  }
  std::uint64_t applied = 0, together = 0, switches = 0;

 private:
  bool was_sync_ = true;
};

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

void check_totals(const std::string& setup, const std::vector<double>& times,
                  const std::vector<Total>& totals) {
  for (const auto& [point, what, measured] : totals) {
    claim({"li2021-total." + setup + "." + id_part(what), logs,
           "setup " + setup + ", " + what + ": seconds", about(measured, 0.05 * measured),
           times[point]});
  }
}

}  // namespace

TEST_CASE("li2021: seconds of runs") {
  const auto first = mean_times("setup1_how_long_is_a_run"),
             second = mean_times("setup2_how_long_is_a_run"),
             third = mean_times("setup3_how_long_is_a_run");
  REQUIRE(first.size() == 12);
  REQUIRE(second.size() == 6);
  REQUIRE(third.size() == 4);
  check_totals("1", first, {{0, "asp", 1560}, {3, "switch at 5 %", 2055}, {11, "bsp", 10660}});
  check_totals("2", second, {{0, "asp", 6070}, {2, "switch at 12.5 %", 6790}, {5, "bsp", 11288}});
  check_totals("3", third, {{0, "asp", 794}, {2, "switch at 50 %", 5090}, {3, "bsp", 9298}});
}

TEST_CASE("li2021: latency lengthens a synchronous step more than an asynchronous cycle") {
  const auto times = mean_times("who_suffers_from_latency");
  REQUIRE(times.size() == 10);
  const auto fit = [](const char* id, const char* what, double expected, double found) {
    claim({std::string("li2021-S1.fit.") + id, "derived: 1.272 + 16 d, 0.19 + 2.2 d", what,
           about(expected, 0.001), found});
  };
  fit("bsp.10", "BSP, 1 x 10 ms: step over one without", 1 + 0.16 / 1.272, times[1] / times[0]);
  fit("bsp.60", "BSP, 2 x 30 ms: step over one without", 1 + 0.96 / 1.272, times[4] / times[0]);
  fit("asp.10", "ASP, 1 x 10 ms: cycle over one without", 1 + 0.022 / 0.19, times[6] / times[5]);
}

TEST_CASE("li2021: what online policies do") {
  const char* const names[] = {"baseline", "greedy", "elastic"};
  double times[2][3] = {};
  for (int scenario = 0; scenario < 2; ++scenario) {
    const std::string number = std::to_string(scenario + 1);
    const auto policies = paper("scenario" + number + "_what_do_policies_save");
    REQUIRE(policies.points.size() >= 3);  // baseline, greedy, elastic
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
}
