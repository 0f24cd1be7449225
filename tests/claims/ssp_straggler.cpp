#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/claims/claim.h"
#include "tests/support/race_text.h"
#include "tests/support/ssp_reads.h"

using namespace gradrace;

// 32 learners whose times are normal, of mean 1 and coefficient of variation 0.1, but learner 0
// takes twice as long for good.  The others start together when it ends a clock, and are done
// before it ends the next.

namespace {

const char* const derived = "derived";
const char* const simulated = "derived: an independent simulation of 1,000 clocks";

constexpr std::uint32_t learners = 32, clocks = 10000;

struct Measured {
  double clock, waiting;  // time of a clock of the straggler; share of the learners' time
  double missing, extra;
  std::uint64_t spread;
};

/// Until all have made 10,000 clocks on average.
Measured run_ssp(std::uint32_t bound) {
  std::string speeds = "0.5";
  for (std::uint32_t learner = 1; learner < learners; ++learner) speeds += ", 1";
  const Race race = point_from(R"({"cluster": {"learners": 32, "speeds": [)" + speeds +
                               R"(], "runtime": {"distribution": "normal", "mean": 1, "sd": 0.1}},
              "protocol": {"kind": "ssp", "bound": )" +
                               std::to_string(bound) + R"(}, "stop": {"updates": )" +
                               std::to_string(learners * clocks) + "}}")
                        .race();
  SspReads reads(learners, bound);  // checks the definition at every read, and throws
  const RunRecord record = run_timing(race, 0, &reads);
  double busy = 0;
  for (const auto& learner : record.learners) busy += learner.busy;
  const double time = record.totals.time;
  return {time / static_cast<double>(record.learners[0].gradients), 1 - busy / (learners * time),
          reads.missing(), reads.extra(), reads.spread()};
}

}  // namespace

TEST_CASE("ssp: a learner that is slow for good sets the pace, and no bound helps") {
  constexpr double error = 0.2 / 100;  // of the mean of 10,000 times of the straggler
  const double without = run_ssp(0).clock;
  for (const std::uint32_t bound : {0u, 1u, 4u, 16u}) {
    const Measured measured = run_ssp(bound);
    const std::string id = ".s-" + std::to_string(bound);
    const std::string at = "one of 32 twice as slow, s = " + std::to_string(bound) + ": ";
    claim({"ssp-4.straggler.clock" + id, simulated, at + "time of a clock, the straggler's mean",
           about(2, 4 * error), measured.clock});
    claim({"ssp-4.straggler.gain" + id, derived, at + "time of a clock over that with s = 0",
           about(1, 5e-4), measured.clock / without});
    claim({"ssp-1.straggler" + id, simulated, at + "largest lead of a starting learner",
           exactly(bound), static_cast<double>(measured.spread)});
    // 31 of 32 learners wait half of their time; s clocks of 10,000 pass before they do.
    claim({"ssp-5.straggler.share" + id, simulated,
           at + "share of the learners' time spent waiting", about(0.48, 0.005), measured.waiting});
    claim({"ssp-5.straggler.constant" + id, derived, at + "the same, 31/64 whatever s",
           about(31.0 / 64, bound / (2.0 * clocks) + 0.001), measured.waiting});
    // 31 learners miss s updates of the straggler, which sees s more of each of them.
    claim({"ssp-3.straggler.missing" + id, derived,
           at + "older updates of others that a read misses",
           about(31.0 / 32 * bound, 0.01 * bound), measured.missing});
    claim({"ssp-3.straggler.extra" + id, derived, at + "newer updates of others that a read sees",
           about(31.0 / 32 * bound, 0.01 * bound), measured.extra});
  }
}
