#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/cli/results/csv.h"
#include "tests/claims/claim.h"
#include "tests/claims/replicas.h"
#include "tests/support/race_text.h"

using namespace gradrace;

namespace {

const char* const recursion = "derived: the recursion e' = 0.99 e + 0.01 x 0.02/K on mean times";
const char* const jsait = "Dutta, Wang, Joshi, JSAIT 2021 (ordering only, from summaries)";

/// A quadratic of curvature 1 whose expected loss follows the recursion exactly: (1 - eta)^2 =
/// 0.99, eta^2 noise^2 / 2 = 0.01 x 0.02, loss 1 at the start.  In 200 dimensions a run's loss is
/// within some 10 % of the expected one that the recursion takes the decision with.
Replicas run_recursion(const std::string& protocol, std::uint32_t replicas, double time) {
  const double eta = 1 - std::sqrt(0.99);
  return {
      point_from(
          R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
      "protocol": )" +
          protocol +
          R"(, "model": {"kind": "quadratic", "precision": "float64", "dimensions": 200, "start": 0.1,
      "noise": )" +
          number_text(0.02 / eta) + R"(}, "learning_rate": {"kind": "constant", "eta": )" +
          number_text(eta) + R"(}, "stop": {"time": )" + number_text(time) +
          R"(}, "record": {"every_time": 5}})"),
      replicas};
}

std::string k_sync(std::uint32_t k) { return R"({"kind": "k-sync", "k": )" + number_text(k) + "}"; }

std::string adasync(const std::string& variant, const std::string& more) {
  return R"({"kind": "adasync", "variant": ")" + variant + "\"" + more + "}";
}

struct Row {
  double time, k, error;
};

/// The K in force in most runs, and the median of their errors: for the number of updates at a time
/// is random, and the mean error is above that of the mean number.
void check_rows(const std::string& name, const Replicas& runs, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const std::size_t i = runs.at_time(row.time);
    const std::string id = ".t-" + number_text(row.time);
    const std::string at = name + ", t = " + number_text(row.time) + ": ";
    claim({"dutta-21.k" + id, recursion, at + "K, mean of 100 runs", about(row.k, 0.5),
           runs.k(i).value()});
    // 3 standard errors of a median, an update more or less, and the last digit.
    const double error = 3 * 1.2533 * runs.loss(i).error() + 0.01 * row.error;
    claim({"dutta-21.error" + id, recursion, at + "error of a quadratic, median of 100 runs",
           about(row.error, error), runs.median_loss(i)});
  }
}

/// The fixed K whose number is nearest on a logarithmic scale.
double nearest(double number, const std::map<std::uint32_t, double>& of_k) {
  const auto distance = [&](const auto& at) { return std::abs(std::log(at.second / number)); };
  return std::ranges::min_element(of_k, {}, distance)->first;
}

/// 8 learners, minibatches of 32 and eta = 0.12, as summaries of the paper have it; for its network
/// a quadratic of curvatures 0.1 and 0.05, whose noise floors at K = 2 within the budget at 2 % of
/// the loss at the start, 1.
Replicas run_stand_in(const std::string& protocol) {
  return {point_from(
              R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
      "protocol": )" +
              protocol + R"(, "model": {"kind": "quadratic", "precision": "float64",
      "dimensions": 100, "curvatures": [0.1, 0.05], "start": 0.5164, "noise": 6.5,
      "minibatch": 32}, "learning_rate": {"kind": "constant", "eta": 0.12},
      "stop": {"time": 2001}, "record": {"every_time": 5}})"),
          10};
}

}  // namespace

TEST_CASE("adasync: the recursion of the expected error, K-sync") {
  const Replicas adaptive =
      run_recursion(adasync("k-sync", R"(, "k0": 1, "interval": 5)"), 100, 1601);
  // clang-format off
  check_rows("K-sync, K0 = 1", adaptive,
             {{10, 1, .459}, {20, 2, .261}, {40, 2, .128}, {60, 3, .078}, {80, 3, .052},
              {120, 4, .030}, {200, 5, .0138}, {400, 6, .0052}, {800, 7, .0031}, {1600, 7, .0029}});
  // clang-format on

  std::map<std::uint32_t, Replicas> fixed;
  for (const std::uint32_t k : {1u, 2u, 4u, 8u})
    fixed.emplace(k, run_recursion(k_sync(k), 20, 1601));
  const Mean last = adaptive.final_loss(0.9);
  for (const std::uint32_t k : {1u, 2u, 4u}) {
    const std::string id = ".k-" + std::to_string(k);
    const std::string at = "floor of K-sync, K = " + std::to_string(k) + ": ";
    claim({"dutta-21.floor" + id, recursion, at + "error of 1,440 to 1,600 time units",
           about(0.02 / k, 3 * fixed.at(k).final_loss(0.9).error()),
           fixed.at(k).final_loss(0.9).value()});
    claim({"dutta-21.below" + id, jsait, at + "what AdaSync has left at the end, over it",
           no_more_than(1 - 3 * last.error() / last.value()), last.value() / (0.02 / k)});
    claim({"dutta-21.earlier" + id, jsait, at + "time when AdaSync is there, over K = 8's",
           no_more_than(1),
           adaptive.time_to(0.02 / k) / std::min(1600.0, fixed.at(8).time_to(0.02 / k))});
  }
  double worst = 0, late = 0;
  REQUIRE(adaptive.size() == fixed.at(8).size());  // same times
  for (std::size_t i = 1; i < adaptive.size(); ++i) {
    double best = 1;
    for (const auto& [k, runs] : fixed) best = std::min(best, runs.loss(i).value());
    const double ratio = adaptive.loss(i).value() / best;
    worst = std::max(worst, ratio);
    if (adaptive.time(i).value() >= 400) late = std::max(late, ratio);
  }
  claim({"dutta-21.envelope", recursion,
         "K-sync, error over that of the best of K = 1, 2, 4, 8, the most at any time",
         no_more_than(3), worst});
  claim({"dutta-21.late", recursion, "the same from t = 400 on", no_more_than(1), late});
}

TEST_CASE("adasync: the recursion of the expected error, K-batch-sync") {
  const Replicas runs =
      run_recursion(adasync("k-batch-sync", R"(, "k0": 1, "interval": 5)"), 100, 801);
  const std::vector<std::pair<double, double>> rows{{10, 1}, {20, 2},  {40, 3},  {60, 3},
                                                    {80, 4}, {120, 6}, {200, 8}, {400, 8}};
  for (const auto& [time, k] : rows) {
    claim({"dutta-21.batch.t-" + number_text(time), recursion,
           "K-batch-sync, K0 = 1, t = " + number_text(time) + ": K, mean of 100 runs",
           about(k, 0.5), runs.k(runs.at_time(time)).value()});
  }
  const Mean at_800 = runs.loss(runs.at_time(800));
  claim(
      {"dutta-21.batch-floor", recursion,
       "K-batch-sync, K0 = 1, t = 800: error of a quadratic, mean of 100 runs; the floor of K = 8",
       about(0.0025, 3 * at_800.error()), at_800.value()});
}

TEST_CASE("adasync: starts as K0 does and ends as the largest K") {
  for (const std::string variant : {"k-sync", "k-async"}) {
    const Replicas adaptive = run_stand_in(adasync(variant, R"(, "k0": 2, "interval": 5)"));
    std::map<std::uint32_t, double> half, floor;
    for (const std::uint32_t k : {2u, 4u, 8u}) {
      const Replicas fixed =
          run_stand_in(R"({"kind": ")" + variant + R"(", "k": )" + std::to_string(k) + "}");
      half[k] = fixed.time_to(0.5);
      floor[k] = fixed.final_loss(0.9).value();
    }
    const std::string at =
        "stand-in for the paper's network, a quadratic, " + variant + ", K0 = 2: ";
    claim({"dutta-22.early." + variant, jsait,
           at + "of K = 2, 4, 8 the one whose time to half the loss is nearest", exactly(2),
           nearest(adaptive.time_to(0.5), half)});
    claim({"dutta-22.late." + variant, jsait,
           at + "of K = 2, 4, 8 the one whose final loss is nearest", exactly(8),
           nearest(adaptive.final_loss(0.9).value(), floor)});
    double fall = 0;
    for (std::size_t i = 20; i < adaptive.size(); i += 20) {
      const Mean now = adaptive.k(i), before = adaptive.k(i - 20);
      const double error = std::hypot(now.error(), before.error());
      fall = std::max(fall, before.value() - now.value() - 3 * error);
    }
    claim({"dutta-22.k." + variant, jsait,
           at + "most that K, mean of 10 runs, falls in 100 time units, less 3 standard errors",
           no_more_than(0), fall});
  }
}
