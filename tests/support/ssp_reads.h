#pragma once

#include <cstdint>
#include <vector>

#include "sim/observer.h"

namespace gradrace {

/// Follows an ssp run by itself, and checks what the definition promises of every read: of a
/// learner at clock c with bound s and stamps of updates from 0, everything stamped c - s - 1 or
/// less and all its own is there, nothing stamped c + s or more, the slowest is at c - s or later;
/// and nobody waits who may start.
class SspReads : public Observer {
 public:
  SspReads(std::uint32_t learners, std::uint64_t bound);

  void on_dispatch(const GradientFacts& gradient, double time) override;
  void on_end(const GradientFacts& gradient, double begin, double time, Ending ending) override;
  void on_update(const UpdateFacts& update) override;

  /// Largest lead of a starting learner over the slowest.
  std::uint64_t spread() const { return spread_; }
  /// Updates of others stamped below c that a read does not see, and those stamped c or more that
  /// it sees; means over reads, and the largest sum of both.
  double missing() const { return static_cast<double>(missing_) / static_cast<double>(reads_); }
  double extra() const { return static_cast<double>(extra_) / static_cast<double>(reads_); }
  std::uint64_t most_missing_and_extra() const { return most_; }

 private:
  std::vector<std::uint64_t> clock_;  // [learner], updates that are its
  std::vector<bool> computing_;
  std::uint64_t bound_;
  std::uint64_t applied_ = 0, reads_ = 0, spread_ = 0, missing_ = 0, extra_ = 0, most_ = 0;
};

}  // namespace gradrace
