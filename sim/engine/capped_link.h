#pragma once

#include <boost/circular_buffer.hpp>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "sim/engine/slot_heap.h"

namespace gradrace {

/// A link of `bandwidth` bytes per unit of time, perhaps infinite, whose transfers share it
/// equally, but none is faster than its cap; what capped ones leave of their shares goes to the
/// others (max-min fairness).  Those of one cap that end at once do so in the order in which they
/// began.
///
///     rate = min(cap, level),  level: where the rates' sum is the bandwidth
///
/// Transfers of one cap are a group.  Groups below the level end at times that are known; those
/// above get the same bytes, and end when these have become so many.  A change costs one search for
/// its group, and O(1) for each group that the level passes.
class CappedLink {
 public:
  /// transfers: the most at once.
  CappedLink(double bandwidth, std::uint32_t transfers);
  CappedLink(const CappedLink&) = delete;

  void enter(std::uint32_t learner, double bytes, double now, double cap);

  bool is_idle() const { return order_.empty(); }

  /// When the next transfer ends if none begins.  Not to be called where there is none.
  double next_end() const;

  /// Ends it: the learner whose transfer it was.
  std::uint32_t pop(double now);

  /// Gives the learner's transfer up, if there is one: the bytes that are left of it.
  double remove(std::uint32_t learner, double now, double cap);

  void clear(double now);

  /// How long it would have taken, until now, with its whole bandwidth.
  double busy(double now) const { return busy_ + (now - last_) * used_; }

 private:
  /// By their caps, the groups with transfers: their places in groups_.
  using Order = std::map<double, std::uint32_t>;
  struct Transfer {
    std::uint32_t learner;
    double end;  // of carried
  };
  /// Each of its transfers had got `carried` when its clock was `since`: time, where it is capped,
  /// else shared_.
  struct Group {
    double carried = 0, since = 0;
    bool capped = false;
    Order::iterator place = {};                  // its own, where it has transfers
    boost::circular_buffer<Transfer> transfers;  // in the order of their ends
  };
  double transfers(const Order::value_type& place) const {
    return static_cast<double>(groups_[place.second].transfers.size());
  }
  double clock(const Group& group) const { return group.capped ? last_ : shared_; }
  double carried(const Group& group, double cap) const;
  Order::iterator place_of(double cap);
  /// Has its first transfer's end among those of its kind.
  void list(const Order::value_type& place);
  /// One of the group's transfers has gone.
  void shrink(Order::iterator place);
  void turn(const Order::value_type& place, bool capped);
  double shared_end() const;
  void advance(double now);
  void share();

  const double bandwidth_;
  std::vector<Group> groups_;
  Order order_;
  std::vector<Order::node_type> spare_;   // of groups without transfers
  Order::iterator level_ = order_.end();  // the first group that is not capped
  SlotHeap capped_ends_, shared_ends_;    // of groups, by their clocks, then by their caps
  double sharers_ = 0, caps_ = 0;  // transfers that are not capped; sum of the caps of the others
  double shared_ = 0;        // bytes that each of the former got that has been there since it was 0
  double last_ = 0;          // when that was so
  double busy_ = 0;          // until then
  double used_ = 0;          // share of the bandwidth, from then on
  std::size_t changes_ = 0;  // of caps_ since it was summed anew
};

}  // namespace gradrace
