#include "sim/engine/capped_link.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gradrace {

CappedLink::CappedLink(double bandwidth, std::span<const double> caps, std::uint32_t transfers)
    : bandwidth_(bandwidth),
      caps_(caps),
      ranks_(static_cast<std::uint32_t>(caps.size())),
      group_of_(caps.size()),
      level_(ranks_.end()),
      capped_ends_(transfers),
      shared_ends_(transfers) {}

/// One that has no transfers yet.
CappedLink::Group& CappedLink::begin(std::uint32_t rank) {
  if (spare_.empty()) {
    spare_.push_back(static_cast<std::uint32_t>(groups_.size()));
    groups_.emplace_back();
  }
  group_of_[rank] = spare_.back();
  spare_.pop_back();
  ranks_.insert(rank);
  Group& made = group(rank);
  made.rank = rank;
  made.capped = rank < level_;
  made.carried = 0;
  made.since = clock(made);
  return made;
}

void CappedLink::enter(std::uint32_t learner, double bytes, double now, std::uint32_t rank) {
  advance(now);
  Group& its = ranks_.contains(rank) ? group(rank) : begin(rank);
  auto& transfers = its.transfers;
  const double end = carried(its) + bytes;
  if (transfers.full()) transfers.set_capacity(2 * transfers.size() + 1);
  auto after = transfers.end();  // it itself, where all are of one size
  while (after != transfers.begin() && std::prev(after)->end > end) --after;
  const bool first = after == transfers.begin();
  transfers.insert(after, {learner, end});
  if (first) list(its);
  ++transfers_;
  its.capped ? sum_ += caps_[rank] : ++sharers_;
  share();
}

double CappedLink::next_end() const {
  return std::min(std::max(last_, capped_ends_.first().time), shared_end());
}

double CappedLink::shared_end() const {
  if (sharers_ == 0) return std::numeric_limits<double>::infinity();
  const double left = std::max(0.0, shared_ends_.first().time - shared_);
  return last_ + left * sharers_ / (bandwidth_ - sum_);
}

std::uint32_t CappedLink::pop(double now) {
  const SlotHeap::End first = capped_ends_.first();
  const bool capped = first.time <= shared_end();
  const auto [end, cap, index] = capped ? first : shared_ends_.first();
  advance(now);
  Group& its = groups_[index];
  const Transfer done = its.transfers.front();
  its.transfers.pop_front();
  if (capped) {
    its.carried = done.end;
    its.since = now;
  } else {
    shared_ = end;
  }
  shrink(its);
  return done.learner;
}

double CappedLink::remove(std::uint32_t learner, double now, std::uint32_t rank) {
  advance(now);
  if (!ranks_.contains(rank)) return 0;
  Group& its = group(rank);
  auto& transfers = its.transfers;
  const auto gone = std::ranges::find(transfers, learner, &Transfer::learner);
  if (gone == transfers.end()) return 0;
  const double left = std::max(0.0, gone->end - carried(its));
  const bool early = gone - transfers.begin() < transfers.end() - gone;
  early ? transfers.rerase(gone) : transfers.erase(gone);
  shrink(its);
  return left;
}

void CappedLink::clear(double now) {
  advance(now);
  for (std::uint32_t rank = 0; (rank = ranks_.from(rank)) != ranks_.end();) {
    group(rank).transfers.clear();
    empty(group(rank));
  }
  level_ = ranks_.end();
  transfers_ = 0;
  sharers_ = 0;
  share();
}

double CappedLink::carried(const Group& group) const {
  return group.carried + (clock(group) - group.since) * (group.capped ? caps_[group.rank] : 1);
}

void CappedLink::list(const Group& group) {
  const double cap = caps_[group.rank];
  const double left = group.transfers.front().end - group.carried;
  ends(group).set({group.since + left / (group.capped ? cap : 1), cap, group_of_[group.rank]});
}

void CappedLink::shrink(Group& group) {
  --transfers_;
  group.capped ? sum_ -= caps_[group.rank] : --sharers_;
  if (!group.transfers.empty()) {
    list(group);
  } else {
    empty(group);
    if (level_ == group.rank) level_ = ranks_.from(level_);
  }
  share();
}

/// Has nothing of it, which has no transfers any more, among the others.
void CappedLink::empty(const Group& group) {
  const std::uint32_t index = group_of_[group.rank];
  ends(group).remove(index);
  ranks_.erase(group.rank);
  spare_.push_back(index);
}

void CappedLink::turn(std::uint32_t rank, bool capped) {
  Group& its = group(rank);
  ends(its).remove(group_of_[rank]);
  its.carried = carried(its);
  its.capped = capped;
  its.since = clock(its);
  list(its);
  const double count = transfers(rank), cap = caps_[rank];
  sum_ += capped ? cap * count : -cap * count;
  sharers_ += capped ? -count : count;
}

void CappedLink::advance(double now) {
  busy_ = busy(now);
  shared_ = sharers_ > 0 ? shared_ + (now - last_) * (bandwidth_ - sum_) / sharers_ : 0;
  last_ = now;
}

/// Sums that are never made anew lose their last digits.
void CappedLink::share() {
  if (++changes_ >= groups_.size() - spare_.size()) {
    changes_ = 0;
    sum_ = 0;
    for (auto rank = ranks_.from(0); rank != level_; rank = ranks_.from(rank + 1))
      sum_ += caps_[rank] * transfers(rank);
  }
  const auto fits = [this](double cap, double sharers, double sum) {
    return cap * sharers <= bandwidth_ - sum;
  };
  for (std::uint32_t last; (last = ranks_.before(level_)) != ranks_.end(); level_ = last) {
    const double count = transfers(last), cap = caps_[last];
    if (fits(cap, sharers_ + count, sum_ - cap * count)) break;
    turn(last, false);
  }
  for (; level_ != ranks_.end() && fits(caps_[level_], sharers_, sum_);
       level_ = ranks_.from(level_ + 1))
    turn(level_, true);
  used_ = sharers_ > 0 ? 1 : sum_ / bandwidth_;
}

}  // namespace gradrace
