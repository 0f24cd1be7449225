#include "distributions/fit/rows/differences.h"

#include <algorithm>

namespace gradrace {

namespace {

constexpr double day = 86400;
constexpr double most_left = 0.9;  // of a total that began again; a clock set back keeps more

/// Of the values or the steps of all learners; 0 where none rises.
double median_rise(const std::vector<RunningTotal>& series, std::vector<double> RunningTotal::*of) {
  std::vector<double> rises;
  for (const auto& totals : series) {
    const auto& values = totals.*of;
    for (std::size_t i = 1; i < values.size(); ++i) {
      if (values[i] > values[i - 1]) rises.push_back(values[i] - values[i - 1]);
    }
  }
  if (rises.empty()) return 0;
  const auto middle = rises.begin() + static_cast<std::ptrdiff_t>(rises.size() / 2);
  std::ranges::nth_element(rises, middle);
  return *middle;
}

/// Whether a total that falls from `before` to `value` began again at 0.
bool begins_at_0(double value, double before, double rise) {
  constexpr double few = 5, many = 20;
  return value <= few * rise || (value <= many * rise && value <= before / 2) ||
         value <= before / many;
}

/// Adds 24 h to what follows a midnight; returns how many there are.
std::size_t go_over_midnight(std::vector<double>& values, double rise) {
  constexpr double many = 20;
  std::size_t days = 0;
  double before = 0;
  for (double& value : values) {
    if (value < before && value + day - before <= many * rise) ++days;
    before = value;
    value += static_cast<double>(days) * day;
  }
  return days;
}

class Maker {
 public:
  Maker(Differences& all, double rise, double stride) : all_(all), rise_(rise), stride_(stride) {}

  void add(const RunningTotal& totals, bool restarts) {
    const auto& [values, steps] = totals;
    auto& times = all_.times.emplace_back();
    const double first_step = steps.empty() ? 0 : *std::ranges::min_element(steps);
    double before = values.empty() ? 0 : *std::ranges::max_element(values), step_before = 0;
    bool known = false;  // whether the value before is
    for (std::size_t i = 0; i < values.size();) {
      std::size_t end = i;  // of equal values
      while (end < values.size() && values[end] == values[i]) ++end;
      const double last_step = steps.empty() ? static_cast<double>(end - 1) : steps[end - 1];
      const auto count = static_cast<double>(end - i);
      if (i == 0 || values[i] < before) {
        // From 0, unless several steps were made until this value.
        const bool one_a_value =
            steps.empty() || end >= steps.size() || steps[end] - last_step <= 1;
        const bool at_first = !steps.empty() && steps[i] == first_step;
        const bool from_0 = restarts && (begins_at_0(values[i], before, rise_) ||
                                         (at_first && (i == 0 || values[i] <= most_left * before)));
        if (i > 0) ++(from_0 ? all_.restarts : all_.left_out);
        if (i == 0 && restarts && !from_0) ++all_.unknown;
        known = true;
        if (from_0 && values[i] > 0 && one_a_value)
          times.insert(times.end(), end - i, values[i] / count);
      } else if (known) {
        const double gone = last_step - step_before;
        if (gone < 0 && steps[i] > first_step) {
          ++all_.left_out;  // steps that are made again, after a pause
        } else {
          const double made = gone > 0 ? gone : gone < 0 ? count * stride_ : count;
          times.insert(times.end(), end - i, (values[i] - before) / made);
        }
      }
      before = values[i];
      step_before = last_step;
      i = end;
    }
  }

 private:
  Differences& all_;
  const double rise_, stride_;  // usual ones, of values and of steps
};

}  // namespace

Differences differences_of(std::vector<RunningTotal> series, bool clock) {
  Differences result;
  const double rise = median_rise(series, &RunningTotal::values);
  const double stride = std::max(1.0, median_rise(series, &RunningTotal::steps));
  std::size_t rises = 0, falls = 0;
  bool restarts = false;
  for (auto& [values, steps] : series) {
    if (clock) result.midnights += go_over_midnight(values, rise);
    for (std::size_t i = 1; i < values.size(); ++i) {
      rises += values[i] > values[i - 1];
      falls += values[i] < values[i - 1];
      restarts =
          restarts || (values[i] < values[i - 1] && begins_at_0(values[i], values[i - 1], rise));
    }
  }
  result.falls = falls >= 2 * rises;
  Maker maker(result, rise, stride);
  for (const auto& totals : series) maker.add(totals, restarts);
  return result;
}

}  // namespace gradrace
