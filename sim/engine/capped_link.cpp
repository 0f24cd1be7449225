#include "sim/engine/capped_link.h"

#include <algorithm>
#include <iterator>

namespace gradrace {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

}  // namespace

void CappedLink::enter(std::uint32_t learner, double bytes, double now, double cap) {
  advance(now);
  const auto [place, is_new] = groups_.try_emplace(cap);
  Group& group = place->second;
  if (is_new) {
    group.capped = level_ == groups_.end() || cap < level_->first;
    group.since = clock(group);
  }
  auto& transfers = group.transfers;
  const double end = carried(*place) + bytes;
  if (transfers.full()) transfers.set_capacity(2 * transfers.size() + 1);
  auto after = transfers.end();  // it itself, where all are of one size
  while (after != transfers.begin() && std::prev(after)->end > end) --after;
  const bool first = after == transfers.begin();
  if (first && !is_new) unlist(*place);
  transfers.insert(after, {learner, end});
  if (first) list(*place);
  group.capped ? caps_ += cap : ++sharers_;
  share();
}

double CappedLink::next_end() const {
  const double first = capped_ends_.empty() ? never : capped_ends_.begin()->first;
  return std::min(std::max(last_, first), shared_end());
}

double CappedLink::shared_end() const {
  if (shared_ends_.empty()) return never;
  const double left = std::max(0.0, shared_ends_.begin()->first - shared_);
  return last_ + left * sharers_ / (bandwidth_ - caps_);
}

std::uint32_t CappedLink::pop(double now) {
  const bool capped = !capped_ends_.empty() && capped_ends_.begin()->first <= shared_end();
  const auto [end, cap] = *(capped ? capped_ends_ : shared_ends_).begin();
  advance(now);
  const auto place = groups_.find(cap);
  unlist(*place);
  Group& group = place->second;
  const Transfer done = group.transfers.front();
  group.transfers.pop_front();
  if (capped) {
    group.carried = done.end;
    group.since = now;
  } else {
    shared_ = end;
  }
  shrink(place);
  return done.learner;
}

double CappedLink::remove(std::uint32_t learner, double now, double cap) {
  advance(now);
  const auto place = groups_.find(cap);
  if (place == groups_.end()) return 0;
  auto& transfers = place->second.transfers;
  const auto gone = std::ranges::find(transfers, learner, &Transfer::learner);
  if (gone == transfers.end()) return 0;
  const double left = std::max(0.0, gone->end - carried(*place));
  unlist(*place);
  const bool early = gone - transfers.begin() < transfers.end() - gone;
  early ? transfers.rerase(gone) : transfers.erase(gone);
  shrink(place);
  return left;
}

void CappedLink::clear(double now) {
  advance(now);
  groups_.clear();
  level_ = groups_.end();
  capped_ends_.clear();
  shared_ends_.clear();
  sharers_ = 0;
  share();
}

double CappedLink::carried(const Groups::value_type& place) const {
  const auto& [cap, group] = place;
  return group.carried + (clock(group) - group.since) * (group.capped ? cap : 1);
}

static std::pair<double, double> first_end(const auto& place) {
  const auto& [cap, group] = place;
  const double left = group.transfers.front().end - group.carried;
  return {group.since + left / (group.capped ? cap : 1), cap};
}

void CappedLink::list(const Groups::value_type& place) {
  (place.second.capped ? capped_ends_ : shared_ends_).insert(first_end(place));
}

void CappedLink::unlist(const Groups::value_type& place) {
  (place.second.capped ? capped_ends_ : shared_ends_).erase(first_end(place));
}

void CappedLink::shrink(Groups::iterator place) {
  place->second.capped ? caps_ -= place->first : --sharers_;
  if (!place->second.transfers.empty()) {
    list(*place);
  } else {
    if (level_ == place) ++level_;
    groups_.erase(place);
  }
  share();
}

void CappedLink::turn(Groups::value_type& place, bool capped) {
  unlist(place);
  auto& [cap, group] = place;
  group.carried = carried(place);
  group.capped = capped;
  group.since = clock(group);
  list(place);
  const double count = static_cast<double>(group.transfers.size());
  caps_ += capped ? cap * count : -cap * count;
  sharers_ += capped ? -count : count;
}

void CappedLink::advance(double now) {
  busy_ = busy(now);
  shared_ = sharers_ > 0 ? shared_ + (now - last_) * (bandwidth_ - caps_) / sharers_ : 0;
  last_ = now;
}

/// Sums that are never made anew lose their last digits.
void CappedLink::share() {
  if (++changes_ >= groups_.size()) {
    changes_ = 0;
    caps_ = 0;
    for (auto place = groups_.begin(); place != level_; ++place)
      caps_ += place->first * static_cast<double>(place->second.transfers.size());
  }
  const auto fits = [this](double cap, double sharers, double caps) {
    return cap * sharers <= bandwidth_ - caps;
  };
  while (level_ != groups_.begin()) {
    auto& last = *std::prev(level_);
    const double count = static_cast<double>(last.second.transfers.size());
    if (fits(last.first, sharers_ + count, caps_ - last.first * count)) break;
    turn(last, false);
    --level_;
  }
  for (; level_ != groups_.end() && fits(level_->first, sharers_, caps_); ++level_)
    turn(*level_, true);
  used_ = sharers_ > 0 ? 1 : caps_ / bandwidth_;
}

}  // namespace gradrace
