#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "distributions/fit/fit.h"
#include "distributions/fit/structure.h"
#include "tests/claims/claim.h"
#include "tests/support/race_text.h"
#include "tests/support/skip.h"

namespace gradrace::traces_claims {

// Three jobs of the Alibaba Platform for AI, cluster trace GPU v2020, mini-batch time, CC BY 4.0:
// ten workers each, one minibatch in ten.

namespace {

const char* const analysed = "Alibaba cluster trace GPU v2020: an independent analysis";
const char* const derived = "derived";

struct Job {
  int number;
  double share_between;                      // of the variance
  double lag1_least, lag1_most;              // of a worker's times
  double sd_least, sd_least_digit, sd_most;  // over the mean, of a worker; the last digit given
  double slowest;                            // of ten workers in a step, over their mean
  Verdict verdict;
};

constexpr std::uint32_t workers = 10;
constexpr Job jobs[] = {{1, .29, .57, .89, .035, .001, .14, 1.11, Verdict::persistent},
                        {2, .96, .52, .89, .01, .01, .02, 1.12, Verdict::heterogeneous},
                        {3, .25, .33, .90, .02, .01, .10, 1.11, Verdict::persistent}};

std::filesystem::path file_of(const Job& job) {
  return data_folder("traces") / ("alibaba_pai_job_" + std::to_string(job.number) + ".csv");
}

Trace trace_of(const Job& job) {
  return trace_of(read_table(file_of(job)), "batch_time_norm", "worker");
}

std::string named(const Job& job, const std::string& what) {
  return "job " + std::to_string(job.number) + ": " + what;
}

std::string identified(const std::string& item, const Job& job) {
  return item + ".job-" + std::to_string(job.number);
}

double sd_over_mean(const std::vector<double>& times) {
  const double n = static_cast<double>(times.size());
  const double mean = std::accumulate(times.begin(), times.end(), 0.0) / n;
  double squares = 0;
  for (const double x : times) squares += (x - mean) * (x - mean);
  return std::sqrt(squares / n) / mean;
}

const Fit& fit_of(const Fits& fits, const std::string& family) {
  return *std::ranges::find(fits.fits, family, &Fit::family);
}

/// Sync on the replayed times, as many steps as every worker has: the time of a step over that of
/// a minibatch.
double replayed_slowest(const Job& job) {
  const std::size_t steps =
      std::ranges::min(trace_of(job).series, {}, &std::vector<double>::size).size();
  const Race race = race_of(
      workers, R"({"kind": "sync"})", R"({"updates": )" + std::to_string(steps) + "}",
      R"({"distribution": "empirical", "column": "batch_time_norm", "learner_column": "worker",
          "mode": "replay", "path": ")" +
          file_of(job).string() + "\"}");
  const RunRecord record = run_timing(race);
  double busy = 0;
  for (const auto& learner : record.learners) busy += learner.busy;
  return record.totals.last_update_time * workers / busy;
}

}  // namespace

TEST_CASE("traces: how the times of three measured jobs differ and persist") {
  if (cannot_claim({"traces-share", "traces-lag1", "traces-sd", "traces-verdict", "traces-speeds"},
                   analysed, "three measured jobs: how their times differ and persist", "traces"))
    return;
  for (const Job& job : jobs) {
    const Trace trace = trace_of(job);
    const Structure structure = structure_of(trace);
    REQUIRE(trace.series.size() == workers);
    claim({identified("traces-share", job), analysed,
           named(job, "share of the variance between workers"), about(job.share_between, .005),
           structure.share_between});
    // The analysis estimated them otherwise: they differ by a few of the ends in 240 or more.
    const auto [least, most] = std::ranges::minmax(structure.lag1);
    claim({identified("traces-lag1.least", job), analysed,
           named(job, "least lag-1 autocorrelation of a worker"), about(job.lag1_least, .01),
           least});
    claim({identified("traces-lag1.most", job), analysed,
           named(job, "largest lag-1 autocorrelation of a worker"), about(job.lag1_most, .01),
           most});
    std::vector<double> sds;
    for (const auto& times : trace.series) sds.push_back(sd_over_mean(times));
    claim({identified("traces-sd.least", job), analysed,
           named(job, "least standard deviation over mean"),
           about(job.sd_least, job.sd_least_digit / 2), std::ranges::min(sds)});
    claim({identified("traces-sd.most", job), analysed,
           named(job, "largest standard deviation over mean"), about(job.sd_most, .005),
           std::ranges::max(sds)});
    claim({identified("traces-verdict", job), analysed,
           named(job, "1 if `fit` calls it " + std::string(job.verdict == Verdict::persistent
                                                               ? "persistence"
                                                               : "static heterogeneity")),
           exactly(1), verdict_of(structure) == job.verdict ? 1.0 : 0.0});
    if (job.number == 2) {
      const auto [fastest, slowest] = std::ranges::minmax(structure.learner_means);
      claim({identified("traces-speeds", job), analysed,
             named(job, "mean of the slowest worker over the fastest's"), about(1.32, .005),
             slowest / fastest});
    }
  }
}

TEST_CASE("traces: three measured jobs are lognormal rather than exponential") {
  if (cannot_claim({"traces-aic"}, analysed, "three measured jobs: their families", "traces"))
    return;
  for (const Job& job : jobs) {
    const Trace trace = trace_of(job);
    const Structure structure = structure_of(trace);
    const Fits fits = fit_families(evened_times(trace, structure));
    const Fit &lognormal = fit_of(fits, "lognormal"), &exponential = fit_of(fits, "exponential");
    claim({identified("traces-aic.order", job), analysed,
           named(job, "AIC of lognormal less that of exponential"), no_more_than(0),
           lognormal.aic - exponential.aic});
    claim({identified("traces-aic.best", job), analysed,
           named(job, "families of lower AIC than lognormal"), exactly(0),
           static_cast<double>(&lognormal - fits.fits.data())});
    if (job.number != 1) continue;
    // Times in units of their mean.  The analysis counts the fixed offset of its lognormal law as a
    // third parameter, and lets that of its exponential law free.
    const double unit = 2 * structure.n * std::log(structure.mean);
    claim({identified("traces-aic.lognormal", job), analysed,
           named(job, "AIC of lognormal, with a third parameter"), about(-8712, .5),
           lognormal.aic - unit + 2});
    claim({identified("traces-aic.shifted", job), analysed,
           named(job, "AIC of shifted exponential"), about(-5808, .5),
           fit_of(fits, "shifted-exponential").aic - unit});
    claim({identified("traces-aic.exponential", job), derived,
           named(job, "AIC of exponential, 2 n + 2 whatever the times"),
           about(2 * structure.n + 2, 1e-6), exponential.aic - unit});
  }
}

TEST_CASE("traces: a replay of three measured jobs waits for the slowest worker of each step") {
  if (cannot_claim({"traces-slowest"}, analysed, "three measured jobs: a replay in step", "traces"))
    return;
  for (const Job& job : jobs) {
    claim({identified("traces-slowest", job), analysed,
           named(job, "sync on the replayed times: time of a step over a minibatch's"),
           about(job.slowest, .005), replayed_slowest(job)});
  }
}

}  // namespace gradrace::traces_claims
