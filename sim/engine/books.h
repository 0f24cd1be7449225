#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/check.h"
#include "sim/large_pages.h"

namespace gradrace {

/// Counts of a run, at one moment.
struct Totals {
  std::uint64_t updates = 0, dispatched = 0, applied = 0, dropped = 0, cancelled = 0, lost = 0;
  double time = 0;  // of the clock; the books leave it
  double last_update_time = 0;
  std::uint64_t staleness_sum = 0;  // over applied gradients, and over shards with a version each
  std::uint32_t max_staleness = 0;
};

/// The books of the gradients of one chain of values, whose newest is `version` updates old: kept
/// at every event and checked against each other: every gradient dispatched is applied, dropped,
/// cancelled, lost or outstanding (in flight or accepted for a later update), and the sum of
/// (version - read) over all gradients, at their ends or now, equals the sum over updates of the
/// gradients outstanding at each.
class Books {
 public:
  const Totals& totals() const { return totals_; }
  std::uint32_t version() const { return static_cast<std::uint32_t>(totals_.updates); }
  /// [staleness]: applied gradients.
  std::span<const std::uint64_t> staleness_counts() const { return staleness_counts_; }
  std::uint64_t outstanding_sum() const { return outstanding_sum_; }

  /// So many gradients at the version of now.
  void dispatch(std::uint32_t gradients) {
    totals_.dispatched += gradients;
    read_sum_ += std::uint64_t{version()} * gradients;
  }

  /// `read`: the version that a gradient was computed at.
  void drop(std::uint32_t read) { ++totals_.dropped, end(read); }
  void cancel(std::uint32_t read) { ++totals_.cancelled, end(read); }
  void lose(std::uint32_t read) { ++totals_.lost, end(read); }

  /// Its staleness.
  std::uint32_t apply(std::uint32_t read) {
    const std::uint32_t staleness = end(read);
    ++totals_.applied;
    totals_.staleness_sum += staleness;
    totals_.max_staleness = std::max(totals_.max_staleness, staleness);
    if (staleness >= staleness_counts_.size()) staleness_counts_.resize(staleness + 1);
    ++staleness_counts_[staleness];
    return staleness;
  }

  /// A gradient of that version will be applied after so many updates.  Inlined, as GCC drops calls
  /// of what does nothing but prefetch.
  [[gnu::always_inline]] void prefetch(std::uint32_t read, std::uint32_t updates) const {
    const std::uint32_t staleness = version() + updates - read;
    if (staleness < staleness_counts_.size()) __builtin_prefetch(&staleness_counts_[staleness], 1);
  }

  /// The next version, made of the gradients that were applied since the last; `outstanding` are
  /// left.
  void update(std::uint64_t outstanding, double time) {
    outstanding_sum_ += outstanding;
    totals_.last_update_time = time;
    ++totals_.updates;
  }

  void check(std::uint64_t outstanding) const {
    GRADRACE_CHECK(totals_.dispatched == totals_.applied + totals_.dropped + totals_.cancelled +
                                             totals_.lost + outstanding,
                   "a gradient was forgotten or counted twice");
    GRADRACE_CHECK(ended_lag_sum_ + outstanding * totals_.updates - read_sum_ == outstanding_sum_,
                   "the staleness of all gradients does not add up");
  }

 private:
  std::uint32_t end(std::uint32_t read) {
    const std::uint32_t lag = version() - read;
    read_sum_ -= read;
    ended_lag_sum_ += lag;
    return lag;
  }

  Totals totals_;
  LargeVector<std::uint64_t> staleness_counts_;
  std::uint64_t read_sum_ = 0;  // of versions read, over outstanding gradients
  std::uint64_t outstanding_sum_ = 0;
  std::uint64_t ended_lag_sum_ = 0;  // of version - read at the end of a gradient; not beside
                                     // read_sum_: one load of both would wait for its store
};

}  // namespace gradrace
