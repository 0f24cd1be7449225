#include "sim/engine/capped_link.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gradrace {

CappedLink::CappedLink(double bandwidth, std::uint32_t transfers)
    : bandwidth_(bandwidth), capped_ends_(transfers), shared_ends_(transfers) {}

CappedLink::Order::iterator CappedLink::place_of(double cap) {
  const auto next = order_.lower_bound(cap);
  if (next != order_.end() && next->first == cap) return next;
  if (spare_.empty()) {
    groups_.emplace_back();
    return order_.emplace_hint(next, cap, static_cast<std::uint32_t>(groups_.size() - 1));
  }
  auto node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = cap;
  return order_.insert(next, std::move(node));
}

void CappedLink::enter(std::uint32_t learner, double bytes, double now, double cap) {
  advance(now);
  const auto place = place_of(cap);
  Group& group = groups_[place->second];
  auto& transfers = group.transfers;
  if (transfers.empty()) {
    group.place = place;
    group.capped = level_ == order_.end() || cap < level_->first;
    group.carried = 0;
    group.since = clock(group);
  }
  const double end = carried(group, cap) + bytes;
  if (transfers.full()) transfers.set_capacity(2 * transfers.size() + 1);
  auto after = transfers.end();  // it itself, where all are of one size
  while (after != transfers.begin() && std::prev(after)->end > end) --after;
  const bool first = after == transfers.begin();
  transfers.insert(after, {learner, end});
  if (first) list(*place);
  group.capped ? caps_ += cap : ++sharers_;
  share();
}

double CappedLink::next_end() const {
  return std::min(std::max(last_, capped_ends_.first().time), shared_end());
}

double CappedLink::shared_end() const {
  if (sharers_ == 0) return std::numeric_limits<double>::infinity();
  const double left = std::max(0.0, shared_ends_.first().time - shared_);
  return last_ + left * sharers_ / (bandwidth_ - caps_);
}

std::uint32_t CappedLink::pop(double now) {
  const SlotHeap::End first = capped_ends_.first();
  const bool capped = first.time <= shared_end();
  const auto [end, cap, index] = capped ? first : shared_ends_.first();
  advance(now);
  Group& group = groups_[index];
  const Transfer done = group.transfers.front();
  group.transfers.pop_front();
  if (capped) {
    group.carried = done.end;
    group.since = now;
  } else {
    shared_ = end;
  }
  shrink(group.place);
  return done.learner;
}

double CappedLink::remove(std::uint32_t learner, double now, double cap) {
  advance(now);
  const auto place = order_.find(cap);
  if (place == order_.end()) return 0;
  Group& group = groups_[place->second];
  auto& transfers = group.transfers;
  const auto gone = std::ranges::find(transfers, learner, &Transfer::learner);
  if (gone == transfers.end()) return 0;
  const double left = std::max(0.0, gone->end - carried(group, cap));
  const bool early = gone - transfers.begin() < transfers.end() - gone;
  early ? transfers.rerase(gone) : transfers.erase(gone);
  shrink(place);
  return left;
}

void CappedLink::clear(double now) {
  advance(now);
  while (!order_.empty()) {
    const std::uint32_t index = order_.begin()->second;
    groups_[index].transfers.clear();
    (groups_[index].capped ? capped_ends_ : shared_ends_).remove(index);
    spare_.push_back(order_.extract(order_.begin()));
  }
  level_ = order_.end();
  sharers_ = 0;
  share();
}

double CappedLink::carried(const Group& group, double cap) const {
  return group.carried + (clock(group) - group.since) * (group.capped ? cap : 1);
}

void CappedLink::list(const Order::value_type& place) {
  const auto& [cap, index] = place;
  const Group& group = groups_[index];
  const double left = group.transfers.front().end - group.carried;
  const double end = group.since + left / (group.capped ? cap : 1);
  (group.capped ? capped_ends_ : shared_ends_).set({end, cap, index});
}

void CappedLink::shrink(Order::iterator place) {
  const auto [cap, index] = *place;
  const Group& group = groups_[index];
  group.capped ? caps_ -= cap : --sharers_;
  if (!group.transfers.empty()) {
    list(*place);
  } else {
    (group.capped ? capped_ends_ : shared_ends_).remove(index);
    if (level_ == place) ++level_;
    spare_.push_back(order_.extract(place));
  }
  share();
}

void CappedLink::turn(const Order::value_type& place, bool capped) {
  const auto [cap, index] = place;
  Group& group = groups_[index];
  (group.capped ? capped_ends_ : shared_ends_).remove(index);
  group.carried = carried(group, cap);
  group.capped = capped;
  group.since = clock(group);
  list(place);
  const double count = transfers(place);
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
  if (++changes_ >= order_.size()) {
    changes_ = 0;
    caps_ = 0;
    for (auto place = order_.begin(); place != level_; ++place)
      caps_ += place->first * transfers(*place);
  }
  const auto fits = [this](double cap, double sharers, double caps) {
    return cap * sharers <= bandwidth_ - caps;
  };
  while (level_ != order_.begin()) {
    const auto& last = *std::prev(level_);
    const double count = transfers(last);
    if (fits(last.first, sharers_ + count, caps_ - last.first * count)) break;
    turn(last, false);
    --level_;
  }
  for (; level_ != order_.end() && fits(level_->first, sharers_, caps_); ++level_)
    turn(*level_, true);
  used_ = sharers_ > 0 ? 1 : caps_ / bandwidth_;
}

}  // namespace gradrace
