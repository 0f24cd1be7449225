#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/cli/results/csv.h"
#include "tests/claims/claim.h"
#include "tests/claims/replicas.h"
#include "tests/support/race_text.h"

using namespace gradrace;

namespace {

const char* const paper = "Ho et al., NIPS 2013 (ordering, from memory)";

/// Loss that small steps settle at; 1 at the start.
constexpr double floor_of_small_steps = 0.002;
constexpr double target = 2.5 * floor_of_small_steps;

/// 32 learners, runtimes normal with 30 %, a quadratic with noise.  In a clock the learning rate
/// makes up 1.2 / curvature: so large that the staleness which waiting saves is dear.
Replicas train(std::uint32_t bound) {
  constexpr double eta = 1.2 / 32;
  constexpr int dimensions = 60;  // half of curvature 1, half of 0.1
  return {
      point_from(R"({"cluster": {"learners": 32, "runtime": {"distribution": "normal", "mean": 1,
      "sd": 0.3}}, "protocol": {"kind": "ssp", "bound": )" +
                 std::to_string(bound) +
                 R"(}, "model": {"kind": "quadratic", "precision": "float64", "dimensions": )" +
                 std::to_string(dimensions) + R"(, "curvatures": [1, 0.1], "start": )" +
                 number_text(std::sqrt(2 / (dimensions / 2 * 1.1))) + R"(, "noise": )" +
                 number_text(std::sqrt(4 * floor_of_small_steps / eta)) +
                 R"(}, "learning_rate": {"kind": "constant", "eta": )" + number_text(eta) +
                 R"(}, "stop": {"updates": 3200}, "record": {"every_updates": 8}})"),
      60};
}

}  // namespace

TEST_CASE(
    "ssp error: a larger bound makes more updates and worse ones, so one in between is best") {
  const std::string task = "quadratic, curvatures 1 and 0.1, P = 32, normal 30 %: ";
  double last_updates = 0, last_rate = 0, least_time = 0, best = 0;
  Mean last_floor;
  for (const std::uint32_t bound : {0u, 1u, 2u, 4u, 8u}) {
    const Replicas runs = train(bound);
    const std::size_t end = runs.size() - 1;
    const Mean floor = runs.final_loss(0.5);
    const double updates = runs.updates_to(target), time = runs.time_to(target);
    const double rate = runs.update(end).value() / runs.time(end).value();
    if (bound > 0) {
      const std::string id = ".s-" + std::to_string(bound);
      const std::string at = task + "s = " + std::to_string(bound) + " against the s before, ";
      claim({"ssp-6.floor" + id, paper, at + "final loss, difference",
             no_less_than(3 * std::hypot(floor.error(), last_floor.error())),
             floor.value() - last_floor.value()});
      claim({"ssp-6.quality" + id, paper, at + "updates to 2.5 x the floor of small steps, ratio",
             no_less_than(1), updates / last_updates});
      claim({"ssp-6.quantity" + id, paper, at + "updates per time, ratio", no_less_than(1),
             rate / last_rate});
    }
    if (bound == 0 || time < least_time) least_time = time, best = bound;
    last_updates = updates, last_rate = rate, last_floor = floor;
  }
  claim({"ssp-6.best", paper, task + "of s = 0, 1, 2, 4, 8 the one that is there first",
         from_to(1, 4), best});
}
