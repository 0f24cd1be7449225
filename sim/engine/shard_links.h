#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

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
  void expect(std::uint32_t learner, std::uint32_t transfers, double now);
  void begin(std::uint32_t learner, std::uint32_t shard, double bytes, double now) {
    if (!transfers_.empty()) passes(learner, shard) = true;
    links_[shard].enter(learner, bytes, now, group(learner));
    schedule(shard);
  }
  /// Ends the shard's transfer whose event it is: the learner whose it was.
  std::uint32_t end(std::uint32_t shard, double now) {
    const std::uint32_t learner = links_[shard].pop(now);
    schedule(shard);
    if (transfers_.empty()) return learner;
    passes(learner, shard) = false;
    change_transfers(learner, transfers_[learner] - 1, now);
    return learner;
  }
  /// Gives the learner's transfers up.
  void remove(std::uint32_t learner, double now);
  void clear(double now);

  /// How long the busiest link was busy, until now.
  double busy(double now) const;

 private:
  std::uint32_t shards() const { return static_cast<std::uint32_t>(links_.size()); }
  /// Of its transfers of now.
  std::uint32_t group(std::uint32_t learner) const {
    const std::uint32_t card = cards_ > 1 ? learner % cards_ : 0;
    return transfers_.empty() ? group_of_[card]
                              : group_of_[card * shards() + transfers_[learner] - 1];
  }
  std::uint8_t& passes(std::uint32_t learner, std::uint32_t shard) {
    return passes_[std::size_t{learner} * shards() + shard];
  }
  void change_transfers(std::uint32_t learner, std::uint32_t transfers, double now);
  void schedule(std::uint32_t shard) {
    if (links_[shard].is_idle()) {
      queue_.remove(first_slot_ + shard);
    } else {
      queue_.schedule(first_slot_ + shard, links_[shard].next_end(), EventClass::arrival);
    }
  }

  EventQueue& queue_;
  const std::uint32_t first_slot_;
  std::uint32_t cards_ = 1;               // of the learners in turn
  std::vector<std::uint32_t> group_of_;   // [card, transfers - 1], on a link
  std::vector<SharedLink> links_;         // of the shards
  std::vector<std::uint32_t> transfers_;  // of the learners; none where cards are not divided
  std::vector<std::uint8_t> passes_;      // [learner, shard], likewise
};

}  // namespace gradrace
