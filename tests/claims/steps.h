#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "sim/observer.h"

namespace gradrace {

/// The times between the updates of a run.
class Steps : public Observer {
 public:
  void on_update(const UpdateFacts& update) override { times_.push_back(update.iteration_time); }

  double mean() const {
    return std::accumulate(times_.begin(), times_.end(), 0.0) / static_cast<double>(times_.size());
  }
  double median() const {
    std::vector<double> sorted = times_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  }

 private:
  std::vector<double> times_;
};

}  // namespace gradrace
