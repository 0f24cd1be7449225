#pragma once

#include <algorithm>
#include <boost/circular_buffer.hpp>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

namespace gradrace {

/// A link of `bandwidth` bytes per unit of time whose transfers share it equally (processor
/// sharing), none faster than its card; what cards leave of their shares goes to the others
/// (max-min fairness).  Those that end at once do so in the order in which they began, of one card
/// at least.
class SharedLink {
 public:
  /// cards: the bandwidths of the cards that there are, ascending.  Infinite: no limit.
  explicit SharedLink(double bandwidth, const std::vector<double>& cards = {unlimited})
      : bandwidth_(bandwidth) {
    for (const double card : cards) {
      groups_.emplace_back().card = card;
      groups_.back().bandwidth = bandwidth;
    }
  }

  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  /// card: its place among those.
  void enter(std::uint32_t learner, double bytes, double now, std::uint32_t card = 0) {
    advance(now);
    Group& group = groups_[card];
    const double end = group.carried + bytes;
    if (group.transfers.full()) group.transfers.set_capacity(2 * group.transfers.size() + 16);
    auto after = group.transfers.end();  // it itself, where all are of one size
    while (after != group.transfers.begin() && std::prev(after)->end > end) --after;
    group.transfers.insert(after, {learner, end});
    share();
  }

  bool is_idle() const {
    return std::ranges::all_of(groups_, [](const Group& group) { return group.transfers.empty(); });
  }

  /// When the next transfer ends if none begins; infinite if there is none.
  double next_end() const {
    double first = end_of(groups_.front());
    for (std::size_t i = 1; i < groups_.size(); ++i) first = std::min(first, end_of(groups_[i]));
    return first;
  }

  /// Ends it: the learner whose transfer it was.
  std::uint32_t pop(double now) {
    Group& ending = groups_.size() == 1 ? groups_.front() : ending_first();
    const Transfer done = ending.transfers.front();
    advance(now);
    ending.transfers.pop_front();
    ending.carried = done.end;
    share();
    return done.learner;
  }

  /// Gives the learner's transfer up, if there is one: the bytes that are left of it.
  double remove(std::uint32_t learner, double now, std::uint32_t card = 0) {
    advance(now);
    Group& group = groups_[card];
    const auto gone = std::ranges::find(group.transfers, learner, &Transfer::learner);
    if (gone == group.transfers.end()) return 0;
    const double left = std::max(0.0, gone->end - group.carried);
    const bool early = gone - group.transfers.begin() < group.transfers.end() - gone;
    early ? group.transfers.rerase(gone) : group.transfers.erase(gone);
    share();
    return left;
  }

  void clear(double now) {
    advance(now);
    for (Group& group : groups_) group.transfers.clear();
    share();
  }

  /// How long it would have taken, until now, with its whole bandwidth.
  double busy(double now) const { return busy_ + (now - last_) * used_; }

 private:
  struct Transfer {
    std::uint32_t learner;
    double end;  // of carried
  };
  /// Transfers through cards of one bandwidth, each of which gets bandwidth / sharers.
  struct Group {
    double card = 0;
    double bandwidth = 0, sharers = 1;
    double carried = 0;  // bytes that every transfer got that has been there since it was 0
    boost::circular_buffer<Transfer> transfers;  // in the order of their ends
  };

  double end_of(const Group& group) const {
    if (group.transfers.empty()) return unlimited;
    const double left = std::max(0.0, group.transfers.front().end - group.carried);
    return last_ + left * group.sharers / group.bandwidth;
  }

  Group& ending_first() {
    return *std::ranges::min_element(groups_, {},
                                     [this](const Group& group) { return end_of(group); });
  }

  void advance(double now) {
    busy_ = busy(now);
    for (Group& group : groups_) {
      group.carried = group.transfers.empty()
                          ? 0
                          : group.carried + (now - last_) * group.bandwidth / group.sharers;
    }
    last_ = now;
  }

  void share() {
    Group& first = groups_.front();
    if (groups_.size() > 1 || first.card < unlimited) [[unlikely]]
      return share_by_cards();
    first.sharers = static_cast<double>(first.transfers.size());
    used_ = first.sharers > 0;
  }

  /// Slow cards get all that they take while that is less than an equal share of what is left.
  void share_by_cards() {
    double left = bandwidth_, sharers = 0;
    for (const Group& group : groups_) sharers += static_cast<double>(group.transfers.size());
    used_ = sharers > 0;
    for (Group& group : groups_) {
      const double transfers = static_cast<double>(group.transfers.size());
      const bool by_card = transfers > 0 && group.card * sharers <= left;
      group.bandwidth = by_card ? group.card : left;
      group.sharers = by_card ? 1 : sharers;
      if (!by_card) continue;
      left -= group.card * transfers;
      sharers -= transfers;
      if (sharers == 0) used_ = bandwidth_ < unlimited ? 1 - left / bandwidth_ : 0;
    }
  }

  double bandwidth_;
  std::vector<Group> groups_;  // by their cards
  double last_ = 0;            // when `carried` was so
  double busy_ = 0;            // until then
  double used_ = 0;            // share of the bandwidth, from then on
};

}  // namespace gradrace
