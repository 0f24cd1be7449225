#pragma once

#include <cmath>

namespace gradrace {

/// The mean of what was added, and how far to trust it.
class Mean {
 public:
  void add(double x) {
    ++count_;
    const double before = x - mean_;
    mean_ += before / count_;
    squares_ += before * (x - mean_);
  }

  double value() const { return mean_; }
  /// Standard deviation of one.
  double deviation() const { return std::sqrt(squares_ / (count_ - 1)); }
  /// Standard error of the mean, where all were independent.
  double error() const { return deviation() / std::sqrt(count_); }
  /// Within four standard errors.
  bool agrees(double expected) const { return std::abs(mean_ - expected) <= 4 * error(); }

 private:
  double count_ = 0, mean_ = 0, squares_ = 0;
};

}  // namespace gradrace
