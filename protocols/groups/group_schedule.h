#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/make_protocol.h"

namespace gradrace {

/// As long as their minibatches: a bound, or exact.
inline std::optional<Estimate> nobody_waits(const Conditions& conditions, Basis basis) {
  return estimate(time_between_minibatches(conditions), basis);
}

/// Which groups of learners average their values, and when.
///
/// A learner comes to its synchronisation point when it has made a step, and stays there until the
/// schedule lets it go.  A group may begin when all of its members are there.
class GroupSchedule {
 public:
  virtual ~GroupSchedule() = default;

  /// The learner has come to its synchronisation point.  Groups that may begin now go to the end
  /// of `ready`.
  virtual void request(Peers& peers, std::uint32_t learner, std::vector<std::uint32_t>& ready) = 0;

  /// The group's average has been made.  Groups that may begin now go to the end of `ready`,
  /// learners that leave their synchronisation point to that of `leaving`.
  virtual void finish(std::uint32_t group, std::vector<std::uint32_t>& ready,
                      std::vector<std::uint32_t>& leaving) = 0;

  /// The learner has failed: it is in no group any more, also of those under way.  Groups that may
  /// begin now go to the end of `ready`.
  virtual void leave(std::uint32_t /*learner*/, std::vector<std::uint32_t>& /*ready*/) {}
  /// It is back.
  virtual void come_back(Peers& /*peers*/, std::uint32_t /*learner*/) {}

  /// Of a group that may begin and is not finished; they ascend.
  virtual std::span<const std::uint32_t> members(std::uint32_t group) const = 0;

  /// The mean time between steps of all learners in the long run, where it is known: never less
  /// than if nobody waits.
  virtual std::optional<Estimate> iteration_time(const Conditions& conditions) const {
    return nobody_waits(conditions, Basis::lower);
  }
  /// Of the groups that a request draws if it draws from all learners.
  virtual std::optional<Mixing> mixing() const { return {}; }
};

/// Whom a request may draw: `group` learners with the one that asks, and with a filter only such
/// as are behind it by fewer than so many requests.
struct GroupRule {
  std::uint32_t learners = 1;
  std::uint32_t group = 3;
  std::optional<std::uint64_t> filter = {};
};

std::unique_ptr<GroupSchedule> make_static_groups(std::uint32_t learners);
std::unique_ptr<GroupSchedule> make_random_groups(const GroupRule& rule);
std::unique_ptr<GroupSchedule> make_group_buffer(const GroupRule& rule);
std::unique_ptr<GroupSchedule> make_group_division(const GroupRule& rule);
/// Of nodes of so many learners; 0: all are one node's.
std::unique_ptr<GroupSchedule> make_inter_intra(const GroupRule& rule, std::uint32_t per_node);

/// The requests that learners have made, and whom they may draw.
class Requests {
 public:
  explicit Requests(const GroupRule& rule);

  /// The learner makes one: the random numbers that belong to it.
  Stream count(const Peers& peers, std::uint32_t learner) {
    return peers.random(learner, counts_[learner]++);
  }
  /// Whether a request of the first may take the other.
  bool may_take(std::uint32_t learner, std::uint32_t other) const {
    if (!left_.empty() && left_[other]) return false;
    return !rule_.filter || learner == other || counts_[learner] < counts_[other] + *rule_.filter;
  }
  void leave(std::uint32_t learner) {
    left_.resize(counts_.size());
    left_[learner] = true;
  }
  /// It has made as many as the other, or as before, if those are more.
  void come_back(std::uint32_t learner, std::uint32_t other) {
    left_[learner] = false;
    counts_[learner] = std::max(counts_[learner], counts_[other]);
  }
  /// The learner and group - 1 others that it may take, or all if they are fewer, in ascending
  /// order.
  void draw(std::uint32_t learner, Stream& random, std::vector<std::uint32_t>& members);

 private:
  std::uint32_t gather_others(std::uint32_t learner);

  const GroupRule rule_;
  std::vector<std::uint32_t> counts_;  // [learner]
  std::vector<std::uint32_t> places_;  // to draw from: 0, 1, ... but where not all may be taken
  std::vector<bool> left_;             // [learner]: has failed; empty: nobody ever has
};

/// Moves so many of the numbers to the front, each choice as likely as any other.
void choose(Stream& random, std::span<std::uint32_t> numbers, std::size_t count);

/// Divides the learners at random into round(n / group) groups, at least one, whose sizes differ by
/// at most one; n >= 1.  Afterwards groups follow one another, each in ascending order, and `sizes`
/// are theirs.
void divide(Stream& random, std::span<std::uint32_t> learners, std::uint32_t group,
            std::vector<std::size_t>& sizes);

/// How many groups that makes.
inline std::uint32_t groups_of(std::uint64_t learners, std::uint64_t group) {
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(1, (2 * learners + group) / (2 * group)));
}

}  // namespace gradrace
