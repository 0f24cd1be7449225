#include <algorithm>

#include "protocols/groups/group_schedule.h"

namespace gradrace {

namespace {

/// Every request makes a group.  A group is given out, which locks its members, when none of them
/// is locked; those that wait for that are looked at in the order of their requests.
class RandomGroups final : public GroupSchedule {
 public:
  explicit RandomGroups(const GroupRule& rule)
      : rule_(rule), requests_(rule), groups_(rule.learners), learners_(rule.learners) {}

  void request(Peers& peers, std::uint32_t learner, std::vector<std::uint32_t>& ready) override {
    Stream random = requests_.count(peers, learner);
    Learner& asking = learners_[learner];
    asking.waits = true;
    if (asking.locked && --groups_[asking.group].missing == 0) ready.push_back(asking.group);
    Group& group = groups_[learner];
    group.number = made_++;
    requests_.draw(learner, random, group.members);
    if (is_free(group)) return give_out(learner, ready);
    peers.count_conflict(learner);
    for (const std::uint32_t member : group.members) learners_[member].pending.push_back(learner);
  }

  void finish(std::uint32_t done, std::vector<std::uint32_t>& ready,
              std::vector<std::uint32_t>& leaving) override {
    leaving.push_back(done);
    learners_[done].waits = false;
    freed_.clear();
    for (const std::uint32_t member : groups_[done].members) {
      learners_[member].locked = false;
      const auto& pending = learners_[member].pending;
      freed_.insert(freed_.end(), pending.begin(), pending.end());
    }
    // No other group has become free.
    std::ranges::sort(freed_, {}, [this](std::uint32_t group) { return groups_[group].number; });
    freed_.erase(std::unique(freed_.begin(), freed_.end()), freed_.end());
    for (const std::uint32_t group : freed_) {
      if (!is_free(groups_[group])) continue;
      for (const std::uint32_t member : groups_[group].members)
        std::erase(learners_[member].pending, group);
      give_out(group, ready);
    }
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
  struct Group {
    std::vector<std::uint32_t> members;
    std::uint64_t number = 0;   // in the order of requests
    std::uint32_t missing = 0;  // members not at their synchronisation point, once given out
  };
  struct Learner {
    bool waits = false;   // at its synchronisation point
    bool locked = false;  // by `group`
    std::uint32_t group = 0;
    std::vector<std::uint32_t> pending;  // its groups that are not given out
  };

  bool is_free(const Group& group) const {
    return std::ranges::none_of(group.members,
                                [this](std::uint32_t member) { return learners_[member].locked; });
  }

  void give_out(std::uint32_t number, std::vector<std::uint32_t>& ready) {
    Group& group = groups_[number];
    group.missing = 0;
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
  std::vector<Group> groups_;  // [learner that asked]: it has one at a time
  std::vector<Learner> learners_;
  std::vector<std::uint32_t> freed_;
  std::uint64_t made_ = 0;
};

}  // namespace

std::unique_ptr<GroupSchedule> make_random_groups(const GroupRule& rule) {
  return std::make_unique<RandomGroups>(rule);
}

}  // namespace gradrace
