#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/cli/scenario/scenario.h"
#include "sim/engine/run.h"
#include "tests/support/mean.h"

namespace gradrace {

/// The error curves of some replicas of a point, which evaluate at the same times or updates.
class Replicas {
 public:
  Replicas(const Point& point, std::uint32_t count);

  /// Evaluations that every replica has, the last ones (of the end of the run) apart.
  std::size_t size() const { return size_; }
  /// The evaluation at that time.
  std::size_t at_time(double time) const;

  Mean time(std::size_t evaluation) const;
  Mean update(std::size_t evaluation) const;
  Mean loss(std::size_t evaluation) const;
  Mean k(std::size_t evaluation) const;
  double median_loss(std::size_t evaluation) const;

  /// Over the replicas, each with the mean of its losses from that share of its evaluations on.
  Mean final_loss(double from) const;

  /// Where the mean loss first falls to the level, on straight lines through its logarithm;
  /// infinity if it does not.
  double time_to(double level) const;
  double updates_to(double level) const;
  /// The mean loss at the mean time, on straight lines through its logarithm; that of the last
  /// evaluation later on.
  double loss_at(double when) const;

 private:
  template <class Value>
  Mean mean(std::size_t evaluation, Value value) const;
  template <class At>
  double crossing(double level, At at) const;

  std::vector<std::vector<CurvePoint>> curves_;
  std::size_t size_ = 0;
};

}  // namespace gradrace
