#include "sim/engine/ladder.h"

#include <algorithm>

namespace gradrace {

namespace {

bool comes_before(const PendingEvent& a, const PendingEvent& b) { return a.due < b.due; }

void sort_few(std::vector<PendingEvent>& events) {
  for (std::size_t i = 1; i < events.size(); ++i) {
    const PendingEvent event = events[i];
    std::size_t at = i;
    for (; at > 0 && event.due < events[at - 1].due; --at) events[at] = events[at - 1];
    events[at] = event;
  }
}

double earliest(const std::vector<PendingEvent>& events) {
  return std::min_element(events.begin(), events.end(), comes_before)->due.time();
}

/// Several times the way from `begin` to the median, which few late events do not move; where that
/// is nothing, the way to the latest of those looked at.
double end_of_first_rung(const std::vector<PendingEvent>& events, double begin) {
  constexpr std::size_t most = 255;
  constexpr double medians = 4;
  std::array<double, most> sample{};
  const std::size_t stride = events.size() / most + 1;
  std::size_t size = 0;
  for (std::size_t i = 0; i < events.size(); i += stride) sample[size++] = events[i].due.time();
  const auto end = sample.begin() + static_cast<std::ptrdiff_t>(size),
             median = sample.begin() + (end - sample.begin()) / 2;
  std::nth_element(sample.begin(), median, end);
  return *median > begin ? begin + medians * (*median - begin) : *std::max_element(median, end);
}

}  // namespace

void Ladder::clear() {
  for (std::size_t i = 0; i < depth_; ++i) rungs_[i].clear();
  depth_ = 0;
  top_.clear();
  soon_.clear();
  first_ = 0;
  is_new_ = false;
}

bool Ladder::refill() {
  soon_.clear();
  first_ = 0;
  while (true) {
    Rung::Bucket* const bucket = depth_ > 0 ? rungs_[depth_ - 1].open() : nullptr;
    if (bucket) {
      if (bucket->size() > most_sorted && make_rung(*bucket)) {
        bucket->clear();
        continue;
      }
      soon_.swap(*bucket);
      break;
    }
    if (depth_ > 1) {
      --depth_;
    } else if (!top_.empty()) {
      make_first_rung();
    } else {
      return false;
    }
  }
  if (soon_.size() <= most_sorted) {
    sort_few(soon_);
  } else if (!std::is_sorted(soon_.begin(), soon_.end(), comes_before)) {
    std::sort(soon_.begin(), soon_.end(), comes_before);
  }
  too_many_ = std::max(most_sorted, 2 * soon_.size());
  is_new_ = true;
  return true;
}

void Ladder::make_first_rung() {
  Rung& rung = rungs_.front();
  const double begin = earliest(top_);
  rung.make(begin, end_of_first_rung(top_, begin), top_.size() / 4);
  depth_ = 1;
  std::size_t kept = 0;
  for (const auto& event : top_) {
    const std::int32_t place = rung.place(event);
    if (place < rung.size()) {
      rung.push(place, event);
    } else {
      top_[kept++] = event;
    }
  }
  top_.resize(kept);
}

/// False if they all come at one time, or there are enough rungs.
bool Ladder::make_rung(const Rung::Bucket& events) {
  if (depth_ == most_rungs) return false;
  const auto [first, last] = std::minmax_element(events.begin(), events.end(), comes_before);
  if (first->due.time_bits == last->due.time_bits) return false;
  Rung& rung = rungs_[depth_++];
  rung.make(first->due.time(), last->due.time(), events.size() / 16);
  for (const auto& event : events) rung.push(std::min(rung.place(event), rung.size() - 1), event);
  return true;
}

void Ladder::insert(const PendingEvent& event) {
  std::size_t at = soon_.size();
  soon_.push_back(event);
  for (; at > first_ && event.due < soon_[at - 1].due; --at) soon_[at] = soon_[at - 1];
  soon_[at] = event;
  const bool mostly_past = first_ > most_sorted && 2 * first_ > soon_.size();
  if (mostly_past || soon_.size() - first_ > too_many_) shorten();
}

/// What is past goes; if too many are left they go into a rung.
void Ladder::shorten() {
  soon_.erase(soon_.begin(), soon_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
  if (soon_.size() <= too_many_) return;
  if (make_rung(soon_)) {
    soon_.clear();
  } else {
    too_many_ = 2 * soon_.size();
  }
}

}  // namespace gradrace
