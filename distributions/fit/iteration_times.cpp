#include "distributions/fit/iteration_times.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <memory>
#include <numeric>

#include "distributions/cluster/cluster_runtimes.h"
#include "distributions/order_statistics.h"
#include "sim/random.h"
#include "sim/reading/document.h"
#include "sim/reading/reader.h"

namespace gradrace {

Rounds measured_rounds(const Trace& trace) {
  Rounds rounds(std::ranges::max(trace.series, {}, &std::vector<double>::size).size());
  for (std::size_t n = 0; n < rounds.size(); ++n) {
    for (const auto& times : trace.series) rounds[n].push_back(times[n % times.size()]);
  }
  return rounds;
}

Rounds simulated_rounds(const std::string& json, std::uint32_t learners, std::uint32_t rounds,
                        std::uint32_t replica) {
  const Document document = Document::parse(json, "fit");
  Reader reader(document);
  const auto cluster = std::make_shared<ClusterRuntimes>();
  visit_cluster_runtimes(reader, *cluster, learners);
  if (const auto problems = reader.finish(); !problems.empty()) throw ScenarioError(problems);
  const MakeRuntimes make = make_cluster_runtimes(cluster, learners);
  const auto runtimes = make ? make(1, replica) : nullptr;
  Rounds result(rounds, std::vector<double>(learners));
  for (std::uint32_t learner = 0; learner < learners; ++learner) {
    for (std::uint32_t draw = 0; draw < rounds; ++draw) {
      result[draw][learner] =
          runtimes
              ? runtimes->duration(learner, draw, 0, 1)
              : cluster->laws.front()->draw({.replica = replica, .learner = learner, .draw = draw});
    }
  }
  return result;
}

double mean_of_fastest(const Rounds& rounds, std::uint32_t k) {
  double sum = 0;
  for (auto round : rounds) {
    const auto place = round.begin() + (k - 1);
    std::ranges::nth_element(round, place);
    sum += *place;
  }
  return sum / static_cast<double>(rounds.size());
}

double mean_of_slowest(const Rounds& rounds) {
  return mean_of_fastest(rounds, static_cast<std::uint32_t>(rounds.front().size()));
}

double mean_of_fastest(const Distribution& law, std::uint32_t k, std::uint32_t p) {
  return integrate_order_statistic(law, k, p);
}

std::uint32_t half_of(std::size_t learners) {
  return static_cast<std::uint32_t>((learners + 1) / 2);
}

namespace {

double students_t(double degrees) {
  return quantile(boost::math::students_t(std::max(degrees, 1.0)), 0.975);
}

/// Of what a statistic is for traces drawn again, ascending; found: for the trace.
Interval interval_about(double found, const std::vector<double>& drawn, double samples) {
  constexpr std::size_t enough = 100;
  const double wider = students_t(samples - 1) / 1.96 * std::sqrt(samples / (samples - 1));
  const auto count = static_cast<double>(drawn.size());
  if (drawn.empty() || !(samples > 1)) return {std::nan(""), std::nan("")};
  if (drawn.size() < enough) {
    const double mean = std::accumulate(drawn.begin(), drawn.end(), 0.0) / count;
    double squares = 0;
    for (const double x : drawn) squares += (x - mean) * (x - mean);
    const double half = wider * students_t(count - 1) * std::sqrt(squares / (count - 1));
    return {found - half, found + half};
  }
  const double middle = drawn[drawn.size() / 2];
  const double low = drawn[static_cast<std::size_t>(std::floor(0.025 * (count - 1)))];
  const double high = drawn[static_cast<std::size_t>(std::ceil(0.975 * (count - 1)))];
  return {found + wider * (low - middle), found + wider * (high - middle)};
}

}  // namespace

std::vector<Interval> bootstrap_intervals(const Trace& trace, std::uint32_t draws,
                                          std::uint32_t block, const TraceStatistics& statistics) {
  std::vector<std::vector<double>> values;  // [statistic][draw]
  const std::size_t rounds = std::ranges::max(trace.series, {}, &std::vector<double>::size).size();
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    Trace again{trace.file, trace.hash, trace.learners, {}};
    again.series.resize(trace.series.size());
    if (!trace.cancelled.empty()) again.cancelled.resize(trace.series.size());
    Stream words = stream({.seed = 1, .draw = draw});
    for (std::size_t taken = 0; taken < rounds; taken += block) {
      const std::size_t begin = words() % rounds;
      for (std::size_t n = begin; n < begin + block && taken + n - begin < rounds; ++n) {
        for (std::size_t learner = 0; learner < trace.series.size(); ++learner) {
          const auto& times = trace.series[learner];
          if (n % rounds >= times.size()) continue;
          again.series[learner].push_back(times[n % rounds]);
          if (!trace.cancelled.empty())
            again.cancelled[learner].push_back(trace.cancelled[learner][n % rounds]);
        }
      }
    }
    if (std::ranges::any_of(again.series, [](const auto& times) { return times.empty(); }))
      continue;
    const auto found = statistics(again);
    values.resize(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) values[i].push_back(found[i]);
  }
  const std::vector<double> found = values.empty() ? std::vector<double>() : statistics(trace);
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto& one = values[i];
    std::erase_if(one, [](double value) { return std::isnan(value); });
    std::ranges::sort(one);
    intervals.push_back(
        interval_about(found[i], one, static_cast<double>(rounds) / static_cast<double>(block)));
  }
  return intervals;
}

}  // namespace gradrace
