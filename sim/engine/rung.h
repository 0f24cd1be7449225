#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/pending_event.h"

namespace gradrace {

/// Pending events in buckets of equal width, which are opened one after the other; not sorted.
class Rung {
 public:
  using Bucket = std::vector<PendingEvent>;

  /// Makes it anew, of about so many buckets between two times, begin <= end.
  void make(double begin, double end, std::size_t about) {
    clear();
    const auto buckets = std::clamp<std::size_t>(std::bit_ceil(about), 8, 1024);
    if (buckets_.size() < buckets) buckets_.resize(buckets);
    size_ = static_cast<std::int32_t>(buckets);
    opened_ = 0;
    begin_ = begin;
    per_time_ = std::min(size_ / (end - begin), most_per_time);
  }

  std::int32_t size() const { return size_; }

  /// The bucket of that time; -1: before the first; size(): after the last.  Never lower for a
  /// later time, whatever is rounded.
  std::int32_t place(const PendingEvent& event) const {
    const double place = (event.due.time() - begin_) * per_time_;
    return static_cast<std::int32_t>(std::clamp<double>(place, -1, size_));
  }

  /// Whether that bucket is still closed.
  bool has(std::int32_t place) const { return place >= opened_; }
  void push(std::int32_t place, const PendingEvent& event) {
    buckets_[static_cast<std::size_t>(place)].push_back(event);
  }

  /// Opens the next bucket that is not empty, for its reader to empty; null: there is none.
  Bucket* open() {
    while (opened_ < size_) {
      Bucket& bucket = buckets_[static_cast<std::size_t>(opened_++)];
      if (!bucket.empty()) return &bucket;
    }
    return nullptr;
  }

  /// The one to be opened next, as it is now.
  std::span<const PendingEvent> next() const {
    if (opened_ == size_) return {};
    return buckets_[static_cast<std::size_t>(opened_)];
  }

  void clear() {
    while (Bucket* const bucket = open()) bucket->clear();
  }

 private:
  static constexpr double most_per_time = 1e300;  // finite: no time has a NaN as its place

  std::vector<Bucket> buckets_;
  std::int32_t size_ = 0, opened_ = 0;
  double begin_ = 0, per_time_ = 0;
};

}  // namespace gradrace
