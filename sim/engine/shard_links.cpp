#include "sim/engine/shard_links.h"

#include <utility>

namespace gradrace {

ShardLinks::ShardLinks(double bandwidth, const std::vector<double>& cards, std::uint32_t shards,
                       std::uint32_t learners, EventQueue& queue, std::uint32_t first_slot)
    : queue_(queue), first_slot_(first_slot), shards_(shards), cards_(cards.size()) {
  if (cards.empty()) {
    open_.assign(shards, SharedLink(bandwidth));
    return;
  }
  std::vector<double> shares;
  for (const double card : cards) {
    for (std::uint32_t transfers = 1; transfers <= shards; ++transfers)
      shares.push_back(card / transfers);
  }
  caps_ = shares;
  std::ranges::sort(caps_);
  caps_.erase(std::ranges::unique(caps_).begin(), caps_.end());
  for (const double share : shares)
    ranks_.push_back(
        static_cast<std::uint32_t>(std::ranges::lower_bound(caps_, share) - caps_.begin()));
  for (std::uint32_t shard = 0; shard < shards; ++shard)
    capped_.emplace_back(bandwidth, caps_, learners);
  if (shards == 1) return;
  transfers_.resize(learners);
  passes_.resize(std::size_t{learners} * shards);
}

std::uint32_t ShardLinks::begin(std::uint32_t learner, std::uint32_t shard, double bytes,
                                double now) {
  if (open_.empty()) [[unlikely]]
    return begin_capped(learner, shard, bytes, now);
  SharedLink& link = open_[shard];
  link.enter(learner, bytes, now);
  schedule(shard, link);
  return CappedLink::none;
}

std::uint32_t ShardLinks::end(std::uint32_t shard, double now) {
  if (open_.empty()) [[unlikely]]
    return end_capped(shard, now);
  SharedLink& link = open_[shard];
  const std::uint32_t learner = link.pop(now);
  reschedule(shard, link);
  return learner;
}

std::uint32_t ShardLinks::begin_capped(std::uint32_t learner, std::uint32_t shard, double bytes,
                                       double now) {
  if (!transfers_.empty()) passes(learner, shard) = true;
  capped_[shard].enter(learner, bytes, now, rank(learner));
  schedule(shard, capped_[shard]);
  return capped_[shard].soon();
}

std::uint32_t ShardLinks::end_capped(std::uint32_t shard, double now) {
  const std::uint32_t learner = capped_[shard].pop(now);
  reschedule(shard, capped_[shard]);
  if (transfers_.empty()) return learner;
  passes(learner, shard) = false;
  change_transfers(learner, transfers_[learner] - 1, now);
  return learner;
}

/// Those under way go on at another share of the card.
void ShardLinks::change_transfers(std::uint32_t learner, std::uint32_t transfers, double now) {
  const std::uint32_t before = std::exchange(transfers_[learner], transfers);
  for (std::uint32_t shard = 0; shard < shards_; ++shard) {
    if (!passes(learner, shard)) continue;
    const double left = capped_[shard].remove(learner, now, rank(learner, before));
    capped_[shard].enter(learner, left, now, rank(learner, transfers));
    schedule(shard, capped_[shard]);
  }
}

void ShardLinks::remove(std::uint32_t learner, double now) {
  for (std::uint32_t shard = 0; shard < open_.size(); ++shard) {
    open_[shard].remove(learner, now);
    reschedule(shard, open_[shard]);
  }
  for (std::uint32_t shard = 0; shard < capped_.size(); ++shard) {
    if (!transfers_.empty() && !passes(learner, shard)) continue;
    capped_[shard].remove(learner, now, rank(learner));
    reschedule(shard, capped_[shard]);
  }
  if (transfers_.empty()) return;
  transfers_[learner] = 0;
  std::fill_n(&passes(learner, 0), shards_, false);
}

void ShardLinks::clear(double now) {
  std::ranges::fill(transfers_, 0);
  std::ranges::fill(passes_, false);
  for (SharedLink& link : open_) link.clear(now);
  for (CappedLink& link : capped_) link.clear(now);
  for (std::uint32_t shard = 0; shard < shards_; ++shard) queue_.remove(first_slot_ + shard);
}

double ShardLinks::busy(double now) const {
  double busiest = 0;
  for (const SharedLink& link : open_) busiest = std::max(busiest, link.busy(now));
  for (const CappedLink& link : capped_) busiest = std::max(busiest, link.busy(now));
  return busiest;
}

}  // namespace gradrace
