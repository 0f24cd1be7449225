#include "distributions/fit/odd_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "distributions/fit/readers/column_words.h"
#include "distributions/fit/structure.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

/// Whether the second half of each learner's times is the first, or each second time the one
/// before.
bool come_twice(const Trace& trace) {
  constexpr std::size_t fewest_pairs = 20;  // which do not agree by chance
  const auto all_have = [&](const auto& is_twice) {
    return std::ranges::all_of(trace.series, [&](const std::vector<double>& times) {
      const std::size_t half = times.size() / 2;
      std::set<double> values;
      for (std::size_t i = 0; i < half; ++i) {
        if (!is_twice(times, half, i)) return false;
        if (values.size() < 3) values.insert(times[i]);
      }
      return times.size() % 2 == 0 && (values.size() >= 3 || half < 3);
    });
  };
  if (trace.size() < 2 * fewest_pairs) return false;
  return all_have(
             [](const auto& x, std::size_t half, std::size_t i) { return x[i] == x[half + i]; }) ||
         all_have(
             [](const auto& x, std::size_t, std::size_t i) { return x[2 * i] == x[2 * i + 1]; });
}

/// A value, and how many times are that.
struct Level {
  double value = 0;
  std::size_t count = 0;
};

/// The greatest, and the greatest of the others.
std::array<Level, 2> greatest_two(const Trace& trace) {
  std::array<Level, 2> levels;
  for (const auto& times : trace.series) {
    for (const double x : times) {
      if (x > levels[0].value) levels = {Level{x, 0}, levels[0]};
      if (x < levels[0].value && x > levels[1].value) levels[1] = {x, 0};
      for (Level& level : levels) level.count += x == level.value;
    }
  }
  return levels;
}

/// Of "-1", "max", "all ranks"; a slow learner whose minibatches are cancelled is as long as
/// another.
bool says_all(const std::string& name) {
  constexpr std::string_view words[] = {"max",    "maximum", "all",     "overall", "total",
                                        "global", "slowest", "longest", "whole",   "any"};
  return name.starts_with('-') || has_word(words_of(name), words);
}

/// Of ranks, 0 where they do not vary.
double correlation(std::span<const double> a, std::span<const double> b) {
  const auto x = centred_ranks(a), y = centred_ranks(b);
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += x[i] * x[i];
    yy += y[i] * y[i];
    xy += x[i] * y[i];
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

/// With those so many places later.
double autocorrelation(std::span<const double> x, std::size_t lag) {
  return correlation(x.first(x.size() - lag), x.subspan(lag));
}

std::vector<double> relative_changes(std::span<const double> x) {
  std::vector<double> changes;
  for (std::size_t i = 1; i < x.size(); ++i) changes.push_back(std::abs(std::log(x[i] / x[i - 1])));
  return changes;
}

/// Of the numbers of which x would be the averages so far: how many are above 0, as times are.
double possible_times(std::span<const double> x) {
  double count = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const auto n = static_cast<double>(i);
    count += (n + 1) * x[i] - n * x[i - 1] > 0;
  }
  return count;
}

double correlation_with_time(std::span<const double> x) {
  std::vector<double> places(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) places[i] = static_cast<double>(i);
  return correlation(x, places);
}

}  // namespace

std::string greatest_text(const Trace& trace, const std::string& name) {
  const auto [greatest, next] = greatest_two(trace);
  constexpr std::size_t fewest = 3, fewest_capped = 5, one_in = 50, fewest_levels = 10;
  constexpr double above = 10;  // times the greatest of the others
  if (next.count == 0) return {};
  const std::string value = short_number(greatest.value);
  if (greatest.count >= fewest && greatest.value >= above * next.value)
    return "the greatest time, " + value +
           ", comes again and again, ten times as long as any other: a straggler, or a mark "
           "of a minibatch that was lost, which --where '" +
           name + "!=" + number_text(greatest.value) +
           "', the number as the file has it, leaves out";
  std::set<double> levels;
  for (const auto& times : trace.series)
    for (const double x : times)
      if (levels.size() < fewest_levels) levels.insert(x);
  const bool is_cap = levels.size() >= fewest_levels && greatest.count >= fewest_capped &&
                      one_in * greatest.count >= trace.size() && greatest.count >= 3 * next.count &&
                      trace.cancelled.empty();
  if (!is_cap) return {};
  return std::to_string(greatest.count) + " of " + std::to_string(trace.size()) +
         " times are the greatest, " + value +
         ", to the last digit, as where a timeout or a clock's end cuts them off: add a column "
         "that has 1 for these and 0 for the others, and say --censored COLUMN; else they "
         "are taken for whole ones, and laws come out too short";
}

std::string pauses_text(const Trace& trace) {
  constexpr double above = 30, changes = 1.1;
  constexpr std::size_t few = 3, one_in = 50;
  std::vector<double> times;
  for (const auto& series : trace.series) times.insert(times.end(), series.begin(), series.end());
  std::ranges::sort(times, std::greater());
  const std::size_t most = std::max(few, times.size() / one_in);
  double sum = std::accumulate(times.begin(), times.end(), 0.0), rest = sum;
  const double all = sum / static_cast<double>(times.size());
  for (std::size_t n = 1; n <= most && n + 1 < times.size(); ++n) {
    rest -= times[n - 1];
    const double others = rest / static_cast<double>(times.size() - n);
    if (times[n - 1] < above * times[n]) continue;
    if (all < changes * others) return {};
    return count_text(n, "time") + (n == 1 ? ", " : ", the longest ") + short_number(times[0], 6) +
           (n == 1 ? ", is" : ", are") +
           " more than 30 times as long as any other, as where a job " +
           "waits or begins again; the mean is " + short_number(all, 3) +
           (n == 1 ? " with it, " : " with them, ") + short_number(others, 3) +
           " without: leave such rows out, or fit the parts between them";
  }
  return {};
}

std::string whole_text(const Trace& trace, const std::string& column) {
  constexpr std::size_t fewest_rounds = 8, fewest_learners = 3;
  const std::size_t rounds = std::ranges::min(trace.series, {}, &std::vector<double>::size).size();
  const std::size_t learners = trace.series.size();
  if (rounds < fewest_rounds || learners < fewest_learners) return {};
  std::vector<std::size_t> greatest(learners), means(learners);
  bool vary = false;
  for (std::size_t n = 0; n < rounds; ++n) {
    double most = 0, second = 0, sum = 0;
    for (const auto& times : trace.series) {
      sum += times[n];
      second = std::max(second, std::min(times[n], most));
      most = std::max(most, times[n]);
    }
    for (std::size_t l = 0; l < learners; ++l) {
      const double x = trace.series[l][n];
      greatest[l] += x == most && x == second;
      const double mean = (sum - x) / static_cast<double>(learners - 1);
      means[l] += std::abs(x - mean) <= 1e-6 * mean;
      vary = vary || std::abs(x - mean) > 1e-3 * mean;
    }
  }
  const auto nearly_all = [&](std::size_t count) { return 20 * count >= 19 * rounds; };
  for (std::size_t l = 0; vary && l < learners; ++l) {
    const std::string& name = trace.learners[l];
    const bool is_mean = nearly_all(means[l]);
    if (!is_mean && !(nearly_all(greatest[l]) && says_all(name))) continue;
    return "learner " + shown(name) + " is in each round the " + (is_mean ? "mean" : "greatest") +
           " of the others, as a row is that sums them up: leave it out" +
           (column.empty() ? "" : ", by --where '" + column + "!=" + name + "'");
  }
  return {};
}

std::string units_text(const Trace& trace) {
  std::vector<double> medians;
  for (const auto& times : trace.series) medians.push_back(median_of(times));
  const auto [least, most] = std::ranges::minmax_element(medians);
  const double ratio = *most / *least;
  const bool by_unit = std::ranges::any_of(std::array{1e3, 1e6, 1e9}, [&](double unit) {
    return ratio >= unit / 3 && ratio <= unit * 3;
  });
  const auto name = [&](auto median) {
    return trace.learners[static_cast<std::size_t>(median - medians.begin())];
  };
  if (!by_unit) return {};
  return "learner " + name(most) + " takes " + short_number(ratio, 3) +
         " times as long as learner " + name(least) +
         ", as where its times are in a smaller unit, such as milliseconds beside seconds: write "
         "all in one unit";
}

std::string twice_text(const Trace& trace) {
  return come_twice(trace)
             ? "every time comes twice, in the same order, as where a log was written "
               "or joined twice: intervals take them for twice as many; leave half of "
               "the rows out"
             : "";
}

bool are_running_averages(const Trace& trace) {
  constexpr std::size_t fewest = 20, most = 2000;  // times of a learner
  constexpr double near = 0.7, least = 0.25, errors = 3.5;
  double all = 0, nearness = 0, fall = 0, cluster = 0, possible = 0;
  for (const auto& times : trace.series) {
    if (times.size() < fewest) continue;
    const auto x = std::span(times).first(std::min(times.size(), most));
    const auto changes = relative_changes(x);
    const auto n = static_cast<double>(changes.size());
    all += n;
    nearness += n * autocorrelation(x, 1);
    fall -= n * correlation_with_time(changes);
    cluster += n * autocorrelation(changes, 2);
    possible += possible_times(x);
  }
  if (possible < 0.95 * all) fall = 0;
  return all > 0 && nearness >= near * all &&
         std::max(fall, cluster) >= std::max(least, errors / std::sqrt(all)) * all;
}

}  // namespace gradrace
