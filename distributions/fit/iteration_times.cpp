#include "distributions/fit/iteration_times.h"

#include <algorithm>
#include <cmath>
#include <memory>

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

Rounds simulated_rounds(const std::string& json, std::uint32_t learners, std::uint32_t rounds) {
  const Document document = Document::parse(json, "fit");
  Reader reader(document);
  const auto cluster = std::make_shared<ClusterRuntimes>();
  visit_cluster_runtimes(reader, *cluster, learners);
  if (const auto problems = reader.finish(); !problems.empty()) throw ScenarioError(problems);
  const MakeRuntimes make = make_cluster_runtimes(cluster, learners);
  const auto runtimes = make ? make(1, 0) : nullptr;
  Rounds result(rounds, std::vector<double>(learners));
  for (std::uint32_t learner = 0; learner < learners; ++learner) {
    for (std::uint32_t draw = 0; draw < rounds; ++draw) {
      result[draw][learner] = runtimes
                                  ? runtimes->duration(learner, draw, 0, 1)
                                  : cluster->laws.front()->draw({.learner = learner, .draw = draw});
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
    if (one.empty()) {
      intervals.push_back({std::nan(""), std::nan("")});
      continue;
    }
    const auto last = static_cast<double>(one.size() - 1);
    const double off = one[one.size() / 2] - found[i];
    intervals.push_back({one[static_cast<std::size_t>(std::floor(0.025 * last))] - off,
                         one[static_cast<std::size_t>(std::ceil(0.975 * last))] - off});
  }
  return intervals;
}

}  // namespace gradrace
