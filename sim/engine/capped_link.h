#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/engine/overtakers.h"
#include "sim/engine/rank_set.h"
#include "sim/engine/slot_heap.h"
#include "sim/large_pages.h"

namespace gradrace {

/// A link of `bandwidth` bytes per unit of time, perhaps infinite, whose transfers share it
/// equally, but none is faster than its cap; what capped ones leave of their shares goes to the
/// others (max-min fairness).  Those of one cap that end at once do so in the order in which they
/// began.
///
///     rate = min(cap, level),  level: where the rates' sum is the bandwidth
///
/// Transfers of one cap are a group.  Groups below the level end at times that are known; those
/// above get the same bytes, and end when these have become so many.  A change costs O(1) for each
/// group that the level passes, and O(log groups) for the ends; for its own group O(1), or O(log
/// transfers) where it ends before others of it that began earlier.
class CappedLink {
 public:
  /// caps: all that there may be, ascending; must outlive this.
  CappedLink(double bandwidth, std::span<const double> caps, std::uint32_t learners);

  /// The learner's transfer begins soon, perhaps of that rank.
  void prefetch(std::uint32_t learner, std::uint32_t rank) const {
    __builtin_prefetch(&transfers_[learner], 1);
    __builtin_prefetch(&group_of_[rank], 1);
  }

  /// The learner has no transfer here.  rank: that of its cap among all.
  void enter(std::uint32_t learner, double bytes, double now, std::uint32_t rank);

  bool is_idle() const { return groups_.size() == spare_.size(); }

  /// Whose transfer ends soon, if that is known at no cost; else none.
  std::uint32_t soon() const { return soon_; }
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// When the next transfer ends if none begins.  Not to be called where there is none.
  double next_end() const;

  /// Ends it: the learner whose transfer it was.
  std::uint32_t pop(double now);

  /// Gives the learner's transfer up, if there is one: the bytes that are left of it.
  double remove(std::uint32_t learner, double now, std::uint32_t rank);

  void clear(double now);

  /// How long it would have taken, until now, with its whole bandwidth.
  double busy(double now) const { return busy_ + (now - last_) * used_; }

 private:
  static constexpr std::uint32_t overtakes = none - 1;
  struct Transfer {
    double end = -1;                            // of carried; < 0: there is none
    std::uint32_t before = none, after = none;  // whose its neighbours in the group are; or
                                                // `overtakes`, and its number among those
  };
  /// Each of its transfers had got `carried` when its clock was `since`: time, where it is capped,
  /// else shared_.
  struct Group {
    double carried = 0, since = 0;
    std::uint32_t rank = 0;  // of its cap, where it has transfers
    std::uint32_t transfers = 0;
    std::uint32_t first = none, last = none;  // whose they are, in the order of their ends,
    std::uint32_t listed = none;              // and whose is the first of all
    bool capped = false;
    bool overtaken = false;  // some end before others that began earlier
  };
  struct Overtaken {
    double longest = 0;  // of the ends of the others since there are any
    Overtakers by = {};  // and such as have been given up
  };
  Group& group(std::uint32_t rank) { return groups_[group_of_[rank]]; }
  double clock(const Group& group) const { return group.capped ? last_ : shared_; }
  double carried(const Group& group) const;
  SlotHeap& ends(const Group& group) { return group.capped ? capped_ends_ : shared_ends_; }
  Group& begin(std::uint32_t rank);
  Overtaken& overtaken(const Group& group) { return overtaken_[group_of_[group.rank]]; }
  void insert(Group& group, std::uint32_t learner, double end);
  bool overtake(Group& group, std::uint32_t learner, double end);
  void forget_gone(Group& group);
  std::uint32_t first_of(const Group& group);
  void erase(Group& group, std::uint32_t learner);
  /// Has its first transfer's end among those of its kind.
  void list(Group& group);
  /// One of the group's transfers has gone.
  void shrink(Group& group);
  void empty(const Group& group);
  void turn(std::uint32_t rank, bool capped);
  double shared_end() const;
  void advance(double now);
  void share();
  void fetch_next();

  const double bandwidth_;
  const std::span<const double> caps_;
  LargeVector<Transfer> transfers_;  // [learner]
  LargeVector<Group> groups_;
  std::vector<Overtaken> overtaken_;     // of those, likewise
  std::vector<std::uint32_t> spare_;     // groups without transfers
  RankSet ranks_;                        // of groups with transfers
  LargeVector<std::uint32_t> group_of_;  // [rank]: of one of ranks_
  std::uint32_t level_;                  // rank of the first group that is not capped
  SlotHeap capped_ends_, shared_ends_;   // [learner]: of each group's first transfer, by its clock,
                                         // then by its cap
  double sharers_ = 0, sum_ = 0;  // transfers that are not capped; sum of the caps of the others
  double shared_ = 0;        // bytes that each of the former got that has been there since it was 0
  double last_ = 0;          // when that was so
  double busy_ = 0;          // until then
  double used_ = 0;          // share of the bandwidth, from then on
  std::size_t changes_ = 0;  // of sum_ since it was summed anew
  std::uint32_t soon_ = none;
  std::uint32_t overtakers_ = 0;  // so far
};

}  // namespace gradrace
