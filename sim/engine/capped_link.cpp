#include "sim/engine/capped_link.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gradrace {

CappedLink::CappedLink(double bandwidth, std::span<const double> caps, std::uint32_t learners)
    : bandwidth_(bandwidth),
      caps_(caps),
      transfers_(learners),
      ranks_(static_cast<std::uint32_t>(caps.size())),
      group_of_(caps.size()),
      level_(ranks_.end()),
      capped_ends_(learners),
      shared_ends_(learners) {}

/// One that has no transfers yet.
CappedLink::Group& CappedLink::begin(std::uint32_t rank) {
  if (spare_.empty()) {
    spare_.push_back(static_cast<std::uint32_t>(groups_.size()));
    groups_.emplace_back();
    overtaken_.emplace_back();
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
  insert(its, learner, carried(its) + bytes);
  if (first_of(its) == learner) {
    if (its.transfers > 1) ends(its).remove(its.listed);
    list(its);
  }
  its.capped ? sum_ += caps_[rank] : ++sharers_;
  share();
}

void CappedLink::insert(Group& group, std::uint32_t learner, double end) {
  ++group.transfers;
  if (group.overtaken || (group.last != none && transfers_[group.last].end > end)) [[unlikely]]
    if (overtake(group, learner, end)) return;
  transfers_[learner] = {end, group.last, none};
  (group.last == none ? group.first : transfers_[group.last].after) = learner;
  group.last = learner;
}

/// Whether it ends before one of the others, none of which began later.
bool CappedLink::overtake(Group& group, std::uint32_t learner, double end) {
  auto& [longest, by] = overtaken(group);
  if (!group.overtaken) longest = transfers_[group.last].end;
  if (longest <= end) {
    longest = end;
    return false;
  }
  group.overtaken = true;
  transfers_[learner] = {end, overtakes, overtakers_};
  by.push({end, overtakers_++, learner});
  return true;
}

/// None that has been given up is the first of those that overtake.
void CappedLink::forget_gone(Group& group) {
  Overtakers& by = overtaken(group).by;
  const auto is_gone = [this](const Overtakers::Transfer& one) {
    const Transfer& its = transfers_[one.learner];
    return its.before != overtakes || its.after != one.number;
  };
  while (!by.empty() && is_gone(by.first())) by.pop();
  group.overtaken = !by.empty();
}

std::uint32_t CappedLink::first_of(const Group& group) {
  if (!group.overtaken) [[likely]]
    return group.first;
  const Overtakers::Transfer& first = overtaken(group).by.first();
  const bool is_first = group.first == none || first.end < transfers_[group.first].end;
  return is_first ? first.learner : group.first;
}

void CappedLink::erase(Group& group, std::uint32_t learner) {
  const auto [end, before, after] = std::exchange(transfers_[learner], {});
  if (before != overtakes) [[likely]] {
    (before == none ? group.first : transfers_[before].after) = after;
    (after == none ? group.last : transfers_[after].before) = before;
  } else {
    forget_gone(group);
  }
  --group.transfers;
  if (group.listed != learner) return;
  ends(group).remove(learner);
  if (group.transfers > 0) list(group);
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
  const auto [end, rank, learner] = capped ? first : shared_ends_.first();
  advance(now);
  Group& its = group(rank);
  if (capped) {
    its.carried = transfers_[learner].end;
    its.since = now;
  } else {
    shared_ = end;
  }
  erase(its, learner);
  shrink(its);
  return learner;
}

double CappedLink::remove(std::uint32_t learner, double now, std::uint32_t rank) {
  advance(now);
  if (transfers_[learner].end < 0) return 0;
  Group& its = group(rank);
  const double left = std::max(0.0, transfers_[learner].end - carried(its));
  erase(its, learner);
  shrink(its);
  return left;
}

void CappedLink::clear(double now) {
  advance(now);
  for (std::uint32_t rank = 0; (rank = ranks_.from(rank)) != ranks_.end();) {
    Group& its = group(rank);
    while (its.transfers > 0) erase(its, its.listed);
    empty(its);
  }
  level_ = ranks_.end();
  sharers_ = 0;
  share();
}

double CappedLink::carried(const Group& group) const {
  return group.carried + (clock(group) - group.since) * (group.capped ? caps_[group.rank] : 1);
}

void CappedLink::list(Group& group) {
  group.listed = first_of(group);
  const double left = transfers_[group.listed].end - group.carried;
  const double end = group.since + left / (group.capped ? caps_[group.rank] : 1);
  ends(group).set({end, group.rank, group.listed});
}

void CappedLink::shrink(Group& group) {
  group.capped ? sum_ -= caps_[group.rank] : --sharers_;
  if (group.transfers == 0) {
    empty(group);
    if (level_ == group.rank) level_ = ranks_.from(level_);
  }
  share();
}

/// Has nothing of it, which has no transfers any more, among the others.
void CappedLink::empty(const Group& group) {
  ranks_.erase(group.rank);
  spare_.push_back(group_of_[group.rank]);
}

void CappedLink::turn(std::uint32_t rank, bool capped) {
  Group& its = group(rank);
  ends(its).remove(its.listed);
  its.carried = carried(its);
  its.capped = capped;
  its.since = clock(its);
  list(its);
  const double count = its.transfers, cap = caps_[rank];
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
      sum_ += caps_[rank] * group(rank).transfers;
  }
  const auto fits = [this](double cap, double sharers, double sum) {
    return cap * sharers <= bandwidth_ - sum;
  };
  for (std::uint32_t last; (last = ranks_.before(level_)) != ranks_.end(); level_ = last) {
    const double count = group(last).transfers, cap = caps_[last];
    if (fits(cap, sharers_ + count, sum_ - cap * count)) break;
    turn(last, false);
  }
  for (; level_ != ranks_.end() && fits(caps_[level_], sharers_, sum_);
       level_ = ranks_.from(level_ + 1))
    turn(level_, true);
  used_ = sharers_ > 0 ? 1 : sum_ / bandwidth_;
  fetch_next();
}

/// Where those that end first are, as one of them does so soon.
void CappedLink::fetch_next() {
  for (const SlotHeap* ends : {&capped_ends_, &shared_ends_}) {
    const SlotHeap::End next = ends->first();
    if (next.time == std::numeric_limits<double>::infinity()) continue;
    __builtin_prefetch(&transfers_[next.slot], 1);
    __builtin_prefetch(&group(next.rank), 1);
    soon_ = next.slot;
  }
}

}  // namespace gradrace
