#include <algorithm>

#include "protocols/groups/group_schedule.h"

namespace gradrace {

namespace {

/// Every request makes a group.  A group is given out, which locks its members, when none of them
/// is locked; those that wait for that are looked at in the order of their requests.
class RandomGroups final : public GroupSchedule {
 public:
  explicit RandomGroups(const GroupRule& rule)
      : rule_(rule), requests_(rule), learners_(rule.learners), asked_(rule.learners) {}

  void request(Peers& peers, std::uint32_t learner, std::vector<std::uint32_t>& ready) override {
    Stream random = requests_.count(peers, learner);
    Learner& asking = learners_[learner];
    asking.waits = true;
    if (asking.locked && --groups_[asking.group].missing == 0) ready.push_back(asking.group);
    const std::uint32_t number = asked_[learner] = make_room();
    Group& group = groups_[number];
    group.asker = learner;
    group.number = made_++;
    group.given_out = false;
    requests_.draw(learner, random, group.members);
    if (is_free(group)) return give_out(number, ready);
    peers.count_conflict(learner);
    for (const std::uint32_t member : group.members) learners_[member].pending.push_back(number);
  }

  void finish(std::uint32_t done, std::vector<std::uint32_t>& ready,
              std::vector<std::uint32_t>& leaving) override {
    const std::uint32_t asker = groups_[done].asker;
    if (asker != nobody) {
      leaving.push_back(asker);
      learners_[asker].waits = false;
    }
    freed_.clear();
    unlock(done);
    give_out_freed(ready);
  }

  void leave(std::uint32_t learner, std::vector<std::uint32_t>& ready) override {
    requests_.leave(learner);
    freed_.clear();
    if (learners_[learner].waits) withdraw(asked_[learner]);
    Learner& its = learners_[learner];
    for (const std::uint32_t number : its.pending) std::erase(groups_[number].members, learner);
    freed_.insert(freed_.end(), its.pending.begin(), its.pending.end());
    if (its.locked) {
      Group& group = groups_[its.group];
      std::erase(group.members, learner);
      if (!its.waits && --group.missing == 0) ready.push_back(its.group);
      if (group.members.empty()) unused_.push_back(its.group);
    }
    its = {};
    give_out_freed(ready);
  }
  void come_back(Peers& peers, std::uint32_t learner) override {
    requests_.come_back(learner, peers.present()[0]);
  }

  std::span<const std::uint32_t> members(std::uint32_t group) const override {
    return groups_[group].members;
  }

  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    return nobody_waits(conditions, rule_.group == 1 ? Basis::exact : Basis::lower);
  }
  std::optional<Mixing> mixing() const override {
    if (rule_.filter) return {};
    return mixing_of_groups(rule_.learners, rule_.learners - rule_.group + 1);
  }

 private:
  static constexpr std::uint32_t nobody = ~0u;

  struct Group {
    std::vector<std::uint32_t> members;
    std::uint32_t asker = nobody;  // nobody: it has failed
    std::uint64_t number = 0;      // in the order of requests
    bool given_out = false;
    std::uint32_t missing = 0;  // members not at their synchronisation point, once given out
  };
  struct Learner {
    bool waits = false;   // at its synchronisation point
    bool locked = false;  // by `group`
    std::uint32_t group = 0;
    std::vector<std::uint32_t> pending;  // its groups that are not given out
  };

  /// The number of a new group.
  std::uint32_t make_room() {
    if (unused_.empty()) {
      unused_.push_back(static_cast<std::uint32_t>(groups_.size()));
      groups_.emplace_back();
    }
    const std::uint32_t number = unused_.back();
    unused_.pop_back();
    return number;
  }

  /// Who asked for the group has failed: there is none, unless it has begun.
  void withdraw(std::uint32_t number) {
    Group& group = groups_[number];
    group.asker = nobody;
    if (group.given_out && group.missing == 0) return;
    if (group.given_out) return unlock(number);
    for (const std::uint32_t member : group.members) std::erase(learners_[member].pending, number);
    unused_.push_back(number);
  }

  /// The group is no more: those that waited for its members are in freed_.
  void unlock(std::uint32_t number) {
    for (const std::uint32_t member : groups_[number].members) {
      learners_[member].locked = false;
      const auto& pending = learners_[member].pending;
      freed_.insert(freed_.end(), pending.begin(), pending.end());
    }
    unused_.push_back(number);
  }

  /// No other group has become free.
  void give_out_freed(std::vector<std::uint32_t>& ready) {
    std::ranges::sort(freed_, {}, [this](std::uint32_t group) { return groups_[group].number; });
    freed_.erase(std::unique(freed_.begin(), freed_.end()), freed_.end());
    for (const std::uint32_t group : freed_) {
      if (!is_free(groups_[group])) continue;
      for (const std::uint32_t member : groups_[group].members)
        std::erase(learners_[member].pending, group);
      give_out(group, ready);
    }
  }

  bool is_free(const Group& group) const {
    return std::ranges::none_of(group.members,
                                [this](std::uint32_t member) { return learners_[member].locked; });
  }

  void give_out(std::uint32_t number, std::vector<std::uint32_t>& ready) {
    Group& group = groups_[number];
    group.missing = 0;
    group.given_out = true;
    for (const std::uint32_t member : group.members) {
      Learner& learner = learners_[member];
      learner.locked = true;
      learner.group = number;
      if (!learner.waits) ++group.missing;
    }
    if (group.missing == 0) ready.push_back(number);
  }

  const GroupRule rule_;
  Requests requests_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> unused_;  // of groups_
  std::vector<Learner> learners_;
  std::vector<std::uint32_t> asked_;  // [learner]: the group that it waits for, if it does
  std::vector<std::uint32_t> freed_;
  std::uint64_t made_ = 0;
};

}  // namespace

std::unique_ptr<GroupSchedule> make_random_groups(const GroupRule& rule) {
  return std::make_unique<RandomGroups>(rule);
}

}  // namespace gradrace
