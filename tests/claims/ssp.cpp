#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/claims/claim.h"
#include "tests/support/race_text.h"
#include "tests/support/schedule.h"
#include "tests/support/ssp_reads.h"

using namespace gradrace;

namespace {

const char* const paper = "Ho et al., NIPS 2013";
const char* const derived = "derived";
const char* const simulated = "derived: an independent simulation of 1,000 clocks";

constexpr std::uint32_t learners = 32;
constexpr std::uint32_t clocks = 1000, replicas = 10;
const char* const normal_30 = R"({"distribution": "normal", "mean": 1, "sd": 0.3})";

std::string ssp(std::uint32_t bound) {
  return R"({"kind": "ssp", "bound": )" + std::to_string(bound) + "}";
}

/// Means over the replicas; largest values of all.
struct Measured {
  double clock = 0, missing = 0, extra = 0, waiting = 0;  // time of a clock; share of time
  std::uint64_t spread = 0, most_missing_and_extra = 0;
};

/// 1,000 clocks, ten times.
Measured run_ssp(std::uint32_t bound, const std::string& runtime) {
  Measured sum;
  const Race race = race_of(learners, ssp(bound),
                            R"({"updates": )" + std::to_string(learners * clocks) + "}", runtime);
  for (std::uint32_t replica = 0; replica < replicas; ++replica) {
    SspReads reads(learners, bound);
    const RunRecord record = run_timing(race, replica, &reads);
    double busy = 0;
    for (const auto& learner : record.learners) busy += learner.busy;
    sum.clock += record.totals.time / clocks / replicas;
    sum.waiting += (1 - busy / (learners * record.totals.time)) / replicas;
    sum.missing += reads.missing() / replicas;
    sum.extra += reads.extra() / replicas;
    sum.spread = std::max(sum.spread, reads.spread());
    sum.most_missing_and_extra =
        std::max(sum.most_missing_and_extra, reads.most_missing_and_extra());
  }
  return sum;
}

/// Lines of `events` without versions and updates.
std::vector<std::string> starts_and_ends(const std::string& protocol, std::uint64_t updates) {
  std::vector<std::string> lines;
  for (const auto& line : events(protocol, learners, updates)) {
    if (line.find("update") == std::string::npos) lines.push_back(line.substr(0, line.find('@')));
  }
  return lines;
}

double differences(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  REQUIRE(a.size() == b.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] == b[i] ? 0 : 1;
  return static_cast<double>(count);
}

}  // namespace

TEST_CASE(
    "ssp: the table of 32 learners: what reads see, larger bounds are faster, waiting rarer") {
  struct Row {
    const char* law;
    std::string runtime;
    std::uint32_t bound;
    double clock, clock_error;  // errors of 1,000 clocks, measured
    double missing, missing_error, missing_rounding;
    double extra, extra_error, extra_rounding;
    double waiting, waiting_error, waiting_rounding;
  };
  const std::string exponential = exponential_1, normal = normal_30;
  const double harmonic_32 = 4.058495130181;
  Measured last;
  bool faster = true, rarer = true;
  for (const Row& row :
       {Row{"exponential", exponential, 0, 4.10, .041, 0, 0, 0, 0, 0, 0, .76, .0025, .005},
        {"exponential", exponential, 1, 2.39, .03, 5.9, .07, .05, 3.0, .04, .05, .58, .0053, .005},
        {"exponential", exponential, 2, 1.85, .026, 11.9, .15, .05, 6.6, .07, .05, .46, .0074,
         .005},
        {"exponential", exponential, 4, 1.50, .017, 22.3, .27, .05, 14.4, .19, .05, .33, .008,
         .005},
        {"exponential", exponential, 8, 1.27, .02, 40, .78, .5, 30, .61, .5, .21, .012, .005},
        {"exponential", exponential, 16, 1.12, .026, 77, 3.7, .5, 64, 3.3, .5, .10, .0192, .005},
        {"normal 30 %", normal, 0, 1.62, .004, 0, 0, 0, 0, 0, 0, .38, .0013, .005},
        {"normal 30 %", normal, 1, 1.14, .004, 12, .09, .5, 1, .01, .5, .12, .0025, .005},
        {"normal 30 %", normal, 4, 1.06, .006, 23, .48, .5, 10, .37, .5, .05, .0052, .005},
        {"normal 30 %", normal, 16, 1.02, .003, 79, 4.8, .5, 64, 4.8, .5, .005, .002, .0005}}) {
    const Measured measured = run_ssp(row.bound, row.runtime);
    const std::string id = "." + id_part(row.law) + ".s-" + std::to_string(row.bound);
    const std::string at = std::string(row.law) + ", s = " + std::to_string(row.bound) + ": ";
    // 3 standard errors of the difference of 1,000 clocks and ours, ten times as many.
    const auto near = [](double value, double error, double rounding) {
      return about(value, 3 * error * std::sqrt(1.1) + rounding);
    };
    claim({"ssp-4.clock" + id, simulated, at + "time of a clock",
           near(row.clock, row.clock_error, .005), measured.clock});
    claim({"ssp-3.missing" + id, simulated, at + "older updates of others that a read misses",
           near(row.missing, row.missing_error, row.missing_rounding), measured.missing});
    claim({"ssp-3.extra" + id, simulated, at + "newer updates of others that a read sees",
           near(row.extra, row.extra_error, row.extra_rounding), measured.extra});
    claim({"ssp-5.waiting" + id, simulated, at + "share of the learners' time spent waiting",
           near(row.waiting, row.waiting_error, row.waiting_rounding), measured.waiting});
    if (row.runtime == exponential_1 && row.bound == 0) {
      claim({"ssp-4.bsp", derived, at + "time of a clock, H_32",
             about(harmonic_32, 4 * row.clock_error / std::sqrt(replicas)), measured.clock});
    }
    faster = faster && (row.bound == 0 || measured.clock <= last.clock);
    rarer = rarer && (row.bound == 0 || measured.waiting < last.waiting);
    last = measured;
    // SspReads checks the rest of the definition at every read, and throws.
    claim({"ssp-1.lead" + id, paper, at + "largest lead of a starting learner over the slowest",
           exactly(row.bound), static_cast<double>(measured.spread)});
    const double most = static_cast<double>(measured.most_missing_and_extra);
    claim({"ssp-3.both" + id, paper,
           at + "missing + extra of one read at most; 2 s (P - 1) allowed",
           no_more_than(2.0 * row.bound * 31), most});
    claim({"ssp-3.tight" + id, derived,
           at + "the same; s (P - 1), for here a learner's updates arrive in order",
           no_more_than(1.0 * row.bound * 31), most});
  }
  claim({"ssp-4.monotone", derived, "1 if the time of a clock never rises with s, two laws",
         exactly(1), faster ? 1.0 : 0.0});
  claim({"ssp-5.monotone", derived, "1 if the share of waiting always falls with s, two laws",
         exactly(1), rarer ? 1.0 : 0.0});
}

TEST_CASE("ssp: s = 0 is bulk synchronous, a large s asynchronous") {
  claim({"ssp-2.bsp", paper, "s = 0: starts and ends of 100 clocks that differ from sync's",
         exactly(0),
         differences(starts_and_ends(ssp(0), 100 * learners),
                     starts_and_ends(R"({"kind": "sync"})", 100))});
  claim({"ssp-2.async", paper, "s = 2^32 - 1: events of 20,000 updates that differ from async's",
         exactly(0),
         differences(events(ssp(std::numeric_limits<std::uint32_t>::max()), learners, 20000),
                     events(R"({"kind": "async"})", learners, 20000))});
}

TEST_CASE("ssp: a large bound takes the mean time of a minibatch for a clock") {
  const Race race = race_of(learners, ssp(1000), R"({"updates": 640000})");
  claim({"ssp-4.limit", derived, "exponential, s = 1000: time of a clock, E[X], over 20,000 clocks",
         about(1, 0.01), run_timing(race).totals.time / 20000});
}
