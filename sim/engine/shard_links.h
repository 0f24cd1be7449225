#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/engine/capped_link.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/shared_link.h"

namespace gradrace {

/// The links of a server's shards in one direction, and the learners' cards: a shard's link is
/// shared by the transfers that pass it, and a card is divided equally among the transfers of its
/// learner.
class ShardLinks {
 public:
  /// bandwidth: of each link; cards: of the learners in turn, empty: no limit.  The event of shard
  /// s has slot `first_slot` + s.  The queue must outlive this.
  ShardLinks(double bandwidth, const std::vector<double>& cards, std::uint32_t shards,
             std::uint32_t learners, EventQueue& queue, std::uint32_t first_slot);

  /// So many of the learner's transfers begin now.
  void expect(std::uint32_t learner, std::uint32_t transfers, double now) {
    if (!transfers_.empty() && transfers > 0) [[unlikely]]
      change_transfers(learner, transfers_[learner] + transfers, now);
  }
  /// The learner's transfers begin soon.
  void prefetch(std::uint32_t learner) const {
    for (const CappedLink& link : capped_) link.prefetch(learner, rank(learner, 1));
  }
  /// Gives a learner whose transfer ends soon, where cards divide the link, or CappedLink::none.
  std::uint32_t begin(std::uint32_t learner, std::uint32_t shard, double bytes, double now);
  /// Ends the shard's transfer whose event it is: the learner whose it was.
  std::uint32_t end(std::uint32_t shard, double now);
  /// Gives the learner's transfers up.
  void remove(std::uint32_t learner, double now);
  void clear(double now);

  /// How long the busiest link was busy, until now.
  double busy(double now) const;

 private:
  /// Of its share of the learner's card, for each of so many transfers, among caps_.
  std::uint32_t rank(std::uint32_t learner, std::uint32_t transfers) const {
    return ranks_[(cards_ == 1 ? 0 : learner % cards_) * shards_ + transfers - 1];
  }
  std::uint32_t rank(std::uint32_t learner) const {
    return rank(learner, transfers_.empty() ? 1 : transfers_[learner]);
  }
  std::uint8_t& passes(std::uint32_t learner, std::uint32_t shard) {
    return passes_[std::size_t{learner} * shards_ + shard];
  }
  std::uint32_t begin_capped(std::uint32_t learner, std::uint32_t shard, double bytes, double now);
  std::uint32_t end_capped(std::uint32_t shard, double now);
  void change_transfers(std::uint32_t learner, std::uint32_t transfers, double now);
  void schedule(std::uint32_t shard, const auto& link) {
    queue_.schedule(first_slot_ + shard, link.next_end(), EventClass::arrival);
  }
  void reschedule(std::uint32_t shard, const auto& link) {
    link.is_idle() ? queue_.remove(first_slot_ + shard) : schedule(shard, link);
  }

  EventQueue& queue_;
  const std::uint32_t first_slot_, shards_;
  const std::size_t cards_;               // theirs, of the learners in turn
  std::vector<double> caps_;              // that a transfer may have, ascending, each once
  std::vector<std::uint32_t> ranks_;      // [card, transfers - 1], of shares of a card among caps_
  std::vector<SharedLink> open_;          // of the shards, where there are no cards
  std::deque<CappedLink> capped_;         // likewise, where there are
  std::vector<std::uint32_t> transfers_;  // of the learners; none where cards are not divided
  std::vector<std::uint8_t> passes_;      // [learner, shard], likewise
};

}  // namespace gradrace
