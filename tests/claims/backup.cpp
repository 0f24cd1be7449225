#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/claims/claim.h"
#include "tests/claims/serial.h"
#include "tests/claims/steps.h"
#include "tests/claims/stragglers.h"
#include "tests/support/race_text.h"
#include "tests/support/schedule.h"

using namespace gradrace;

namespace {

const char* const paper = "Pan et al. 2017, sec. 3, Algorithms 3 and 4";
const char* const section_3_1 = "Pan et al. 2017, sec. 3.1";
const char* const derived = "derived";
const char* const simulated_4000 = "derived: an independent simulation of 4,000 steps";
const char* const simulated_6000 = "derived: an independent simulation of 6,000 steps";
const char* const tensorflow = "TensorFlow, SyncReplicasOptimizer";

constexpr std::uint64_t updates = 40000;

std::string backup(std::uint32_t n, const std::string& more = {}) {
  return R"({"kind": "backup", "k": )" + std::to_string(n) + more + "}";
}

struct Dynamic {
  Measurement mean, median;  // time of a step
  double dropped;            // gradients in it
};

Dynamic run_dynamic(std::uint32_t learners, const std::string& protocol) {
  const Race race =
      race_of(learners, protocol, R"({"updates": )" + std::to_string(updates) + "}", stragglers);
  Steps steps;
  const Totals totals = run_timing(race, 0, &steps).totals;
  return {steps.measured_mean(), steps.measured_median(),
          static_cast<double>(totals.dropped) / updates};
}

/// 3 standard errors of the difference between a run of so many steps, whose standard error is
/// known, and one of `updates`; and the last digit's rounding.
Expected simulated_before(double value, double error, double steps, double rounding) {
  return about(value, 3 * error * std::sqrt(1 + steps / updates) + rounding);
}

template <class Time>
std::uint32_t best_n(Time time) {
  std::uint32_t best = 50;
  for (std::uint32_t n = 51; n <= 100; ++n) best = time(n) < time(best) ? n : best;
  return best;
}

/// Of b backups with 50 gradients an update: t(0)/t(b) 50/(50 + b), t the steps of the runs.
double gain(const std::vector<Dynamic>& runs, Measurement Dynamic::*step, std::size_t b) {
  return (runs[0].*step).value / (runs[b].*step).value * 50 / (50 + static_cast<double>(b));
}

/// Counts updates that are not n gradients of the current version, and what a step drops at most.
class Updates : public Observer {
 public:
  explicit Updates(std::size_t n) : n_(n) {}
  void on_end(const GradientFacts&, double, double, Ending ending) override {
    cancelled += ending == Ending::cancelled ? 1 : 0;
    dropped_ += ending == Ending::dropped ? 1 : 0;
    most_dropped = std::max(most_dropped, dropped_);
  }
  void on_update(const UpdateFacts& update) override {
    wrong += update.gradients.size() == n_ && update.max_staleness == 0 ? 0 : 1;
    dropped_ = 0;
  }
  std::uint32_t wrong = 0, cancelled = 0, most_dropped = 0;

 private:
  std::size_t n_;
  std::uint32_t dropped_ = 0;
};

/// Largest difference, in standard errors, between the mean loss of 400 replicas after 10, 30 and
/// 100 updates and its exact value; F(w) = w^2 / 2, noise of variance 1, w_0 = 2, N = 8.
double difference_from_exact(std::uint32_t backups) {
  constexpr double eta = 0.05, n = 8, replicas = 400;
  const Point point = point_from(
      R"({"cluster": {"learners": )" + std::to_string(8 + backups) +
      R"(, "runtime": {"distribution": "exponential", "mean": 1}}, "protocol": )" + backup(8) +
      R"(, "model": {"kind": "quadratic", "start": 2, "precision": "float64"},
      "learning_rate": {"kind": "constant", "eta": 0.05}, "stop": {"updates": 100},
      "record": {"every_updates": 10}})");
  double sum[11] = {}, squares[11] = {};
  for (std::uint32_t replica = 0; replica < replicas; ++replica) {
    const auto curve = run_training(point, replica).curve;
    for (const std::size_t i : {1, 3, 10}) {
      REQUIRE(curve[i].point.update == 10 * i);
      const double loss = curve[i].evaluation.loss;
      sum[i] += loss;
      squares[i] += loss * loss;
    }
  }
  double most = 0;
  for (const std::size_t i : {1, 3, 10}) {
    const double mean = sum[i] / replicas;
    const double error = std::sqrt((squares[i] / replicas - mean * mean) / (replicas - 1));
    const double floor = eta / (2 * n * (2 - eta));
    const double exact = floor + std::pow(1 - eta, 20.0 * static_cast<double>(i)) * (2 - floor);
    most = std::max(most, std::abs(mean - exact) / error);
  }
  return most;
}

}  // namespace

TEST_CASE("backup: b = 0 is synchronous SGD") {
  const RunRecord record = run_timing(race_of(8, backup(8), R"({"updates": 20000})"));
  claim({"backup-1.staleness", paper, "b = 0: largest staleness of an applied gradient", exactly(0),
         static_cast<double>(record.totals.max_staleness)});
  claim({"backup-1.serial", paper,
         "b = 0: loss after each of 100 updates, largest relative difference from serial SGD with "
         "batch N B on the same samples; the serial mean is one sum of N B terms, so to rounding",
         no_more_than(1e-12), difference_from_serial(backup(8))});
}

TEST_CASE("backup: every update is N gradients of the current version") {
  const auto look = [](const std::string& name, const std::string& more) {
    Updates seen(96);
    const Race race = race_of(100, backup(96, more), R"({"updates": 10000})", stragglers);
    const Totals totals = run_timing(race, 0, &seen).totals;
    claim({"backup-2.accepted." + name, paper,
           "N = 96, b = 4, " + name +
               " tokens: of 10,000 updates, those that are not 96 gradients of the current version",
           exactly(0), static_cast<double>(seen.wrong)});
    claim({"backup-2.cancelled." + name, paper,
           "N = 96, b = 4, " + name + " tokens: gradients interrupted", exactly(0),
           static_cast<double>(seen.cancelled)});
    return std::pair{seen.most_dropped, static_cast<double>(totals.dropped) / 10000};
  };
  const auto bound = look("bound", {}), shared = look("shared", R"(, "tokens": "shared")");
  claim({"backup-2.dropped", paper, "N = 96, b = 4: most gradients dropped in a step",
         no_more_than(4), static_cast<double>(bound.first)});
  // N extra tokens at the start, at most 2 P tokens and gradients in hand at the end.
  claim({"backup-2.dropped-tokens", tensorflow,
         "N = 96, b = 4, shared tokens: gradients dropped in a step, mean of 10,000",
         about(4, 0.02), shared.second});
}

TEST_CASE("backup: the course of the training depends on N, not on b") {
  for (const std::uint32_t b : {0u, 4u, 8u}) {
    claim({"backup-3.b-" + std::to_string(b), derived,
           "N = 8, b = " + std::to_string(b) +
               ": mean loss of a quadratic after 10, 30 and 100 updates, 400 replicas: largest "
               "difference from its exact value for N, in standard errors",
           no_more_than(4), difference_from_exact(b)});
  }
}

TEST_CASE("backup: the estimate of the time to convergence has its minimum at a few backups") {
  const auto law = race_of(100, backup(100), R"({"updates": 1})", stragglers).runtime;
  const auto step = [&](std::uint32_t n) { return law->expected_order_statistic(n, 100); };
  // 3 standard errors of 4,000 steps (0.001 up to 96, 0.0035 at 98, 0.1 at 100) and the rounding.
  for (const auto& [n, value, tolerance] : {std::tuple{100u, 4.23, 0.3},
                                            {98u, 1.91, 0.0155},
                                            {96u, 1.76, 0.008},
                                            {95u, 1.74, 0.008},
                                            {92u, 1.72, 0.008},
                                            {90u, 1.71, 0.008},
                                            {80u, 1.67, 0.008},
                                            {70u, 1.64, 0.008}}) {
    claim({"backup-6.order-statistic.n-" + std::to_string(n), simulated_4000,
           "mean time of the N-th of 100 gradients, N = " + std::to_string(n) + ", by quadrature",
           about(value, tolerance), step(n)});
  }
  const auto time = [&](std::uint32_t n) { return step(n) * iterations(n); };
  const auto time_on_a_line = [&](std::uint32_t n) { return step(n) * iterations_on_a_line(n); };
  claim({"backup-6.minimum",
         section_3_1,
         "N + b = 100: N with the least mean step x iterations, 76.2e3 (100/N)^0.852 of them",
         {96, 94, 97},
         static_cast<double>(best_n(time))});
  claim({"backup-6.minimum-line",
         section_3_1,
         "the same, with iterations interpolated between 137.5e3 at N = 50 and 76.2e3 at N = 100",
         {96, 94, 97},
         static_cast<double>(best_n(time_on_a_line))});
  const double least = time(best_n(time));
  claim({"backup-6.right", derived, "time at N = 100 over the least", no_less_than(1.5),
         time(100) / least});
  claim({"backup-6.left", derived, "time at N = 70 over the least", no_less_than(1.1),
         time(70) / least});
  claim({"backup-6.flat", simulated_4000, "time over the least: the largest of N = 94, 95, 96",
         from_to(1, 1.01), std::max({time(94), time(95), time(96)}) / least});
  claim({"backup-6.flat-97", simulated_4000, "time over the least, N = 97", from_to(1, 1.025),
         time(97) / least});
}

TEST_CASE(
    "backup: in a run a late learner is late again, so steps are longer and more backups pay") {
  struct Row {
    std::uint32_t n;
    double step, step_error, dropped, dropped_error;  // errors of 4,000 steps, measured
  };
  double step_100 = 0, step_96 = 0, step_95 = 0, step_70 = 0, last = 1e9, least = 1e9;
  std::uint32_t best = 100;
  bool falls = true;
  // clang-format off
  for (const Row& row : {Row{100, 4.23, 0.1, 0, 0},
                         {98, 2.36, 0.03, 1.5, 0.026}, {96, 2.00, 0.011, 3.2, 0.04},
                         {95, 1.92, 0.007, 4.1, 0.044}, {92, 1.81, 0.003, 6.9, 0.052},
                         {90, 1.77, 0.0017, 8.9, 0.057}, {80, 1.71, 0.0005, 18.7, 0.061},
                         {70, 1.68, 0.0004, 28.7, 0.062}}) {
    // clang-format on
    const Dynamic run = run_dynamic(100, backup(row.n));
    const std::string at = "N = " + std::to_string(row.n) + ", N + b = 100: ";
    claim({"backup-7.step.n-" + std::to_string(row.n), simulated_4000, at + "mean step",
           simulated_before(row.step, row.step_error, 4000, 0.005), run.mean.value});
    claim({"backup-7.dropped.n-" + std::to_string(row.n), simulated_4000,
           at + "gradients dropped in a step",
           row.n == 100 ? exactly(0) : simulated_before(row.dropped, row.dropped_error, 4000, 0.05),
           run.dropped});
    falls = falls && run.mean.value < last;
    last = run.mean.value;
    if (run.mean.value * iterations(row.n) < least)
      least = run.mean.value * iterations(best = row.n);
    if (row.n == 100) step_100 = run.mean.value;
    if (row.n == 96) step_96 = run.mean.value;
    if (row.n == 95) step_95 = run.mean.value;
    if (row.n == 70) step_70 = run.mean.value;
  }
  claim({"backup-7.saved", derived, "mean step of 96 + 4 over that of 100 + 0", no_more_than(0.7),
         step_96 / step_100});
  claim({"backup-7.monotone", derived,
         "1 if the mean step falls with b = 0, 2, 4, 5, 8, 10, 20, 30", exactly(1),
         falls ? 1.0 : 0.0});
  claim({"backup-7.diminishing", derived,
         "share of what b = 30 saves of the mean step that b = 5 saves", no_less_than(0.85),
         (step_100 - step_95) / (step_100 - step_70)});
  claim({"backup-7.best",
         simulated_4000,
         "best N of the table when the steps are those of the run, 96 by the estimate",
         {90, 90, 92},
         static_cast<double>(best)});
}

TEST_CASE("backup: what a late learner does next decides how much 4 backups of 100 save") {
  struct Row {
    const char *name, *more;
    double step, error;  // of 6,000 steps, measured
  };
  for (const Row& row : {Row{"is cancelled", R"(, "late": "cancel")", 1.76, 0.001},
                         {"rejoins", R"(, "late": "rejoin")", 2.00, 0.009},
                         {"shares tokens", R"(, "tokens": "shared")", 2.07, 0.0102},
                         {"waits", R"(, "late": "wait")", 2.50, 0.09}}) {
    claim({"backup-7.late." + id_part(row.name), simulated_6000,
           "N = 96, b = 4, a late learner " + std::string(row.name) + ": mean step",
           simulated_before(row.step, row.error, 6000, 0.005),
           run_dynamic(100, backup(96, row.more)).mean.value});
  }
}

TEST_CASE("backup: with 50 gradients an update a few backups are worth their machines") {
  const char* const osdi = "Abadi et al., OSDI 2016, fig. 8 (from summaries)";
  std::vector<Dynamic> runs;
  for (std::uint32_t b = 0; b <= 7; ++b) runs.push_back(run_dynamic(50 + b, backup(50)));
  double most = 0;
  for (std::size_t b = 1; b <= 4; ++b)
    most = std::max(most, runs[b].median.value / runs[b - 1].median.value);
  claim({"backup-8.median", osdi,
         "N = 50: largest median step over that with one backup less, b = 1 to 4",
         no_more_than(1 - 1e-9), most});
  for (const auto& [name, step] : {std::pair{std::string("median"), &Dynamic::median},
                                   {std::string("mean"), &Dynamic::mean}}) {
    std::size_t best = 0;
    for (std::size_t b = 1; b < runs.size(); ++b)
      best = gain(runs, step, b) > gain(runs, step, best) ? b : best;
    const std::string id = "backup-8.gain." + name,
                      at = "N = 50, gain t(0)/t(b) 50/(50 + b), t the " + name + " step: ";
    claim({id + ".best",
           osdi,
           at + "b of the largest of b = 0 to 7; asserted is that it lies inside, for stragglers "
                "are independent here; the paper has 3",
           {3, 1, 6},
           static_cast<double>(best)});
    for (const std::size_t end : {0u, 7u}) {
      const auto [time, error] = runs[best].*step;
      const auto [end_time, end_error] = runs[end].*step;
      claim(
          {id + ".over-b-" + std::to_string(end), osdi,
           at + "largest over that of b = " + std::to_string(end) + ", above by 3 standard errors",
           no_less_than(1 + 3 * std::hypot(error / time, end_error / end_time)),
           gain(runs, step, best) / gain(runs, step, end)});
    }
  }
}
