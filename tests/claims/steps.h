#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/observer.h"
#include "tests/support/mean.h"

namespace gradrace {

/// A number, and its standard error.
struct Measurement {
  double value, error;
};

/// The times between the updates of a run.
class Steps : public Observer {
 public:
  void on_update(const UpdateFacts& update) override { times_.push_back(update.iteration_time); }

  double mean() const { return mean_of(times_); }
  double median() const { return median_of(times_); }

  /// With standard errors from those of 40 parts of the run, which are as good as independent.
  Measurement measured_mean() const { return {mean(), error_of(mean_of)}; }
  Measurement measured_median() const { return {median(), error_of(median_of)}; }

 private:
  using Times = std::vector<double>;

  static double mean_of(const Times& times) {
    Mean mean;
    for (const double time : times) mean.add(time);
    return mean.value();
  }
  static double median_of(Times times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }
  template <class Statistic>
  double error_of(Statistic statistic) const {
    constexpr std::ptrdiff_t parts = 40;
    const std::ptrdiff_t size = std::ssize(times_) / parts;
    Mean of_parts;
    for (auto part = times_.begin(); times_.end() - part >= size; part += size)
      of_parts.add(statistic(Times(part, part + size)));
    return of_parts.error();
  }

  Times times_;
};

}  // namespace gradrace
