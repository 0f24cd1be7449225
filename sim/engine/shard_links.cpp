#include "sim/engine/shard_links.h"

namespace gradrace {

ShardLinks::ShardLinks(double bandwidth, const std::vector<double>& cards, std::uint32_t shards,
                       std::uint32_t learners, EventQueue& queue, std::uint32_t first_slot)
    : queue_(queue), first_slot_(first_slot) {
  std::vector<double> shares;  // of the cards, by the transfers among which they are divided
  for (const double card : cards) {
    for (std::uint32_t n = 1; n <= shards; ++n) shares.push_back(card / n);
  }
  if (cards.empty()) shares.push_back(SharedLink::unlimited);
  std::vector<double> distinct = shares;
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (const double share : shares) {
    const auto place = std::ranges::lower_bound(distinct, share) - distinct.begin();
    group_of_.push_back(static_cast<std::uint32_t>(place));
  }
  links_.assign(shards, SharedLink(bandwidth, distinct));
  if (cards.empty()) return;
  cards_ = static_cast<std::uint32_t>(cards.size());
  if (shards == 1) return;
  transfers_.resize(learners);
  passes_.resize(std::size_t{learners} * shards);
}

void ShardLinks::expect(std::uint32_t learner, std::uint32_t transfers, double now) {
  if (transfers_.empty() || transfers == 0) return;
  change_transfers(learner, transfers_[learner] + transfers, now);
}

/// Those under way go on at another share of the card.
void ShardLinks::change_transfers(std::uint32_t learner, std::uint32_t transfers, double now) {
  for (std::uint32_t shard = 0; shard < shards(); ++shard) {
    if (!passes(learner, shard)) continue;
    const std::uint32_t before = group(learner);
    const double left = links_[shard].remove(learner, now, before);
    links_[shard].enter(learner, left, now, group_of_[learner % cards_ * shards() + transfers - 1]);
    schedule(shard);
  }
  transfers_[learner] = transfers;
}

void ShardLinks::remove(std::uint32_t learner, double now) {
  for (std::uint32_t shard = 0; shard < shards(); ++shard) {
    if (!transfers_.empty() && !passes(learner, shard)) continue;
    links_[shard].remove(learner, now, group(learner));
    schedule(shard);
  }
  if (transfers_.empty()) return;
  transfers_[learner] = 0;
  std::fill_n(&passes(learner, 0), shards(), false);
}

void ShardLinks::clear(double now) {
  std::ranges::fill(transfers_, 0);
  std::ranges::fill(passes_, false);
  for (std::uint32_t shard = 0; shard < shards(); ++shard) {
    links_[shard].clear(now);
    schedule(shard);
  }
}

double ShardLinks::busy(double now) const {
  double busiest = 0;
  for (const SharedLink& link : links_) busiest = std::max(busiest, link.busy(now));
  return busiest;
}

}  // namespace gradrace
