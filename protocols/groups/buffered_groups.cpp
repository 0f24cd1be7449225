#include <algorithm>
#include <bit>

#include "protocols/groups/group_schedule.h"
#include "sim/peer_network.h"

namespace gradrace {

namespace {

/// Every learner has a buffer of groups that it is in, in the order in which they were made.  A
/// request of a learner with an empty buffer makes groups; every request takes the first of the
/// buffer, which begins when it is the first of all its members' and they are there.
class BufferedGroups : public GroupSchedule {
 public:
  explicit BufferedGroups(const GroupRule& rule)
      : rule_(rule),
        requests_(rule),
        buffers_(rule.learners),
        empty_(rule.learners / 64 + 1),
        asks_(rule.learners) {
    for (std::uint32_t learner = 0; learner < rule.learners; ++learner) mark_empty(learner, true);
  }

  void request(Peers& peers, std::uint32_t learner, std::vector<std::uint32_t>& ready) override {
    Stream random = requests_.count(peers, learner);
    if (buffers_[learner].empty()) make(learner, random, peers.per_node());
    const std::uint32_t number = buffers_[learner].front();
    Group& group = groups_[number];
    if (group.first_of < group.members.size()) peers.count_conflict(learner);
    ++group.present;
    asks_[learner] = true;
    try_to_begin(number, ready);
  }

  void finish(std::uint32_t group, std::vector<std::uint32_t>&,
              std::vector<std::uint32_t>& leaving) override {
    for (const std::uint32_t member : groups_[group].members) {
      auto& buffer = buffers_[member];
      buffer.erase(buffer.begin());
      if (buffer.empty()) {
        mark_empty(member, true);
      } else {
        ++groups_[buffer.front()].first_of;
      }
      asks_[member] = false;
      leaving.push_back(member);
    }
    unused_.push_back(group);
  }

  void leave(std::uint32_t learner, std::vector<std::uint32_t>& ready) override {
    requests_.leave(learner);
    mark_empty(learner, false);
    std::vector<std::uint32_t> buffer;
    buffer.swap(buffers_[learner]);
    for (const std::uint32_t number : buffer) {
      Group& group = groups_[number];
      std::erase(group.members, learner);
      if (number == buffer.front()) {
        --group.first_of;
        if (asks_[learner]) --group.present;
      }
      if (group.members.empty())
        unused_.push_back(number);
      else
        try_to_begin(number, ready);
    }
    asks_[learner] = false;
  }
  void come_back(Peers& peers, std::uint32_t learner) override {
    requests_.come_back(learner, peers.present()[0]);
    mark_empty(learner, true);
  }

  std::span<const std::uint32_t> members(std::uint32_t group) const override {
    return groups_[group].members;
  }

 protected:
  /// Makes groups, one of them or more with the learner.
  virtual void make(std::uint32_t learner, Stream& random, std::uint32_t per_node) = 0;

  const GroupRule& rule() const { return rule_; }
  Requests& requests() { return requests_; }

  /// Those with empty buffers that a request may take, in ascending order.
  std::vector<std::uint32_t>& idle(std::uint32_t learner) {
    idle_.clear();
    for (std::uint32_t word = 0; word < empty_.size(); ++word) {
      for (std::uint64_t left = empty_[word]; left != 0; left &= left - 1) {
        const std::uint32_t other = 64 * word + static_cast<std::uint32_t>(std::countr_zero(left));
        if (requests_.may_take(learner, other)) idle_.push_back(other);
      }
    }
    return idle_;
  }

  /// A group of those, who ascend: the last in its members' buffers.
  void add(std::span<const std::uint32_t> members) {
    if (unused_.empty()) {
      unused_.push_back(static_cast<std::uint32_t>(groups_.size()));
      groups_.emplace_back();
    }
    const std::uint32_t number = unused_.back();
    unused_.pop_back();
    Group& group = groups_[number];
    group.members.assign(members.begin(), members.end());
    group.first_of = group.present = 0;
    group.begun = false;
    for (const std::uint32_t member : members) {
      if (buffers_[member].empty()) {
        ++group.first_of;
        mark_empty(member, false);
      }
      buffers_[member].push_back(number);
    }
  }

  /// Divides them into groups, the last in their buffers.
  void divide_up(std::span<std::uint32_t> learners, Stream& random) {
    if (learners.empty()) return;
    divide(random, learners, rule_.group, sizes_);
    for (const std::size_t size : sizes_) {
      add(learners.first(size));
      learners = learners.subspan(size);
    }
  }

 private:
  struct Group {
    std::vector<std::uint32_t> members;
    std::size_t first_of = 0;  // members in whose buffers it is the first
    std::size_t present = 0;   // members that ask for it
    bool begun = false;
  };

  void try_to_begin(std::uint32_t number, std::vector<std::uint32_t>& ready) {
    Group& group = groups_[number];
    if (group.begun || group.present < group.members.size()) return;
    group.begun = true;
    ready.push_back(number);
  }

  void mark_empty(std::uint32_t learner, bool empty) {
    const std::uint64_t bit = std::uint64_t{1} << learner % 64;
    empty ? empty_[learner / 64] |= bit : empty_[learner / 64] &= ~bit;
  }

  const GroupRule rule_;
  Requests requests_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> unused_;                // of groups_
  std::vector<std::vector<std::uint32_t>> buffers_;  // [learner]
  std::vector<std::uint64_t> empty_;  // a bit for each learner whose buffer is, and has not failed
  std::vector<bool> asks_;            // [learner]: for the first of its buffer
  std::vector<std::uint32_t> idle_;
  std::vector<std::size_t> sizes_;
};

/// All learners wait for the slowest and average.
std::optional<Estimate> time_of_all(const Conditions& conditions) {
  const auto slowest = slowest_minibatch(conditions);
  if (!slowest) return {};
  const double exchange = collective_time(conditions.network, everyone(conditions.learners));
  return {{(*slowest + exchange) / conditions.learners, Basis::exact}};
}

class GroupBuffer final : public BufferedGroups {
 public:
  using BufferedGroups::BufferedGroups;

  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    const auto& [learners, group, filter] = rule();
    if (group == 1) return nobody_waits(conditions, Basis::exact);
    return group == learners && !filter ? time_of_all(conditions)
                                        : nobody_waits(conditions, Basis::lower);
  }
  std::optional<Mixing> mixing() const override {
    if (rule().filter) return {};
    return mixing_of_groups(rule().learners, rule().learners - rule().group + 1);
  }

 private:
  void make(std::uint32_t learner, Stream& random, std::uint32_t) override {
    requests().draw(learner, random, members_);
    add(members_);
  }

  std::vector<std::uint32_t> members_;
};

class GroupDivision final : public BufferedGroups {
 public:
  using BufferedGroups::BufferedGroups;

  /// One group of all; or groups of one size on equal links where all minibatches take the same, so
  /// that all learners ask together.
  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    const auto& [learners, group, filter] = rule();
    const std::uint32_t groups = groups_of(learners, group);
    if (group == 1) return nobody_waits(conditions, Basis::exact);
    if (groups == 1 && !filter) return time_of_all(conditions);
    const PeerNetwork* const network = conditions.network;
    const bool alike = !network || (network->per_node == 0 && network->communicator_setup == 0);
    const bool constant = conditions.law && conditions.law->variance() == 0;
    if (!constant || learners % groups != 0 || !alike || filter)
      return nobody_waits(conditions, Basis::lower);
    const double exchange = collective_time(network, everyone(learners / groups));
    return {{(conditions.law->mean() + exchange) / learners, Basis::exact}};
  }
  std::optional<Mixing> mixing() const override {
    if (rule().filter) return {};
    return mixing_of_groups(rule().learners, groups_of(rule().learners, rule().group));
  }

 private:
  void make(std::uint32_t learner, Stream& random, std::uint32_t) override {
    divide_up(idle(learner), random);
  }
};

class InterIntra final : public BufferedGroups {
 public:
  InterIntra(const GroupRule& rule, std::uint32_t per_node)
      : BufferedGroups(rule),
        per_node_(per_node > 0 ? std::min(per_node, rule.learners) : rule.learners) {}

  /// Of both groups, in nodes of s learners.  What a node has on average changes by its head's part
  /// alone, a share of 1 / s, which becomes the mean of all: (1 - 1 / s)^2 is left of the square,
  /// and of what learners of one of n nodes differ by (1 - 1 / n) / s^2, which is less.
  std::optional<Mixing> mixing() const override {
    const std::uint32_t learners = rule().learners;
    if (rule().filter || learners % per_node_ != 0) return {};
    const double kept = learners > per_node_ ? 1 - 1.0 / per_node_ : 0;
    return Mixing{.rho = kept * kept, .second = kept, .period = 2};
  }

 private:
  void make(std::uint32_t learner, Stream& random, std::uint32_t per_node) override {
    const auto& all = idle(learner);
    heads_.clear();
    const auto each_node = [&](auto&& act) {
      for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
        while (end < all.size() && all[end] / per_node == all[begin] / per_node) ++end;
        act(std::span(all).subspan(begin, end - begin));
      }
    };
    each_node([&](std::span<const std::uint32_t> node) {
      others_.assign(node.begin(), node.end());
      choose(random, others_, 1);
      heads_.push_back(others_.front());
      divide_up(std::span(others_).subspan(1), random);
    });
    add(heads_);
    each_node([&](std::span<const std::uint32_t> node) { add(node); });
  }

  const std::uint32_t per_node_;
  std::vector<std::uint32_t> heads_, others_;
};

}  // namespace

std::unique_ptr<GroupSchedule> make_group_buffer(const GroupRule& rule) {
  return std::make_unique<GroupBuffer>(rule);
}

std::unique_ptr<GroupSchedule> make_group_division(const GroupRule& rule) {
  return std::make_unique<GroupDivision>(rule);
}

std::unique_ptr<GroupSchedule> make_inter_intra(const GroupRule& rule, std::uint32_t per_node) {
  return std::make_unique<InterIntra>(rule, per_node);
}

}  // namespace gradrace
