#include <algorithm>
#include <array>

#include "protocols/groups/group_schedule.h"
#include "sim/peer_network.h"

namespace gradrace {

namespace {

constexpr std::uint32_t phases = 4, per_node = 4;

/// Who averages with a learner in a phase.
enum class With : std::uint8_t { nobody, partner, node, likes };  // likes: those of its place

/// Of the table: [phase][place in the node].  Partners of a phase are a node's only such pair.
constexpr std::array<std::array<With, per_node>, phases> table{{
    {With::likes, With::nobody, With::partner, With::partner},
    {With::node, With::node, With::node, With::node},
    {With::partner, With::likes, With::nobody, With::partner},
    {With::node, With::node, With::node, With::node},
}};

class StaticGroups final : public GroupSchedule {
 public:
  explicit StaticGroups(std::uint32_t learners) : steps_(learners) {
    for (std::uint32_t phase = 0; phase < phases; ++phase) {
      std::uint32_t likes = none;
      for (std::uint32_t node = 0; node < learners; node += per_node) {
        std::uint32_t local = none;
        for (std::uint32_t place = 0; place < per_node && node + place < learners; ++place) {
          const With with = table[phase][place];
          std::uint32_t alone = none;
          std::uint32_t& group = with == With::likes ? likes : with == With::nobody ? alone : local;
          if (group == none) {
            group = static_cast<std::uint32_t>(groups_.size());
            groups_.emplace_back();
          }
          groups_[group].members.push_back(node + place);
          group_of_[phase].push_back(group);
        }
      }
    }
  }

  void request(Peers&, std::uint32_t learner, std::vector<std::uint32_t>& ready) override {
    const std::uint32_t number = group_of_[steps_[learner]++ % phases][learner];
    Group& group = groups_[number];
    if (++group.present == group.members.size()) ready.push_back(number);
  }

  void finish(std::uint32_t group, std::vector<std::uint32_t>&,
              std::vector<std::uint32_t>& leaving) override {
    const auto& members = groups_[group].members;
    leaving.insert(leaving.end(), members.begin(), members.end());
    groups_[group].present = 0;
  }

  std::span<const std::uint32_t> members(std::uint32_t group) const override {
    return groups_[group].members;
  }

  /// Where all minibatches take c and all nodes are alike, learners go through a phase together: c
  /// and the longest of its collectives.
  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    const Distribution* const law = conditions.law;
    const PeerNetwork* const network = conditions.network;
    if (!law || law->variance() > 0 || !are_alike(network))
      return GroupSchedule::iteration_time(conditions);
    double cycle = 0;
    for (const auto& phase : group_of_) {
      double longest = 0;
      for (const std::uint32_t group : phase)
        longest = std::max(longest, collective_time(network, groups_[group].members));
      cycle += law->mean() + longest;
    }
    return {{cycle / phases / conditions.learners, Basis::exact}};
  }

  /// Of a cycle.  An average of each node, A, makes learners of a node agree; from there one of the
  /// learners of a place, B, takes a quarter of each node's value to the mean, so that A B A leaves
  /// 3/4 of what n > 1 nodes differ by.  The cycle is A B' A B, so that its eigenvalue is (3/4)^2,
  /// and |A B' A B|^2 = (3/4)^2 |B A B|: 27/64, as B is a projection.  Partners change no sum of a
  /// node.
  std::optional<Mixing> mixing() const override {
    if (steps_.size() % per_node != 0) return {};
    if (steps_.size() == per_node) return Mixing{.rho = 0, .period = phases};
    return Mixing{.rho = 27.0 / 64, .second = 9.0 / 16, .period = phases};
  }

 private:
  static constexpr std::uint32_t none = ~0u;

  bool are_alike(const PeerNetwork* network) const {
    if (steps_.size() % per_node != 0) return false;
    if (!network) return true;
    if (!network->regions.empty()) return false;
    const std::size_t sets = 3 * steps_.size() / per_node + 2;
    return network->per_node % per_node == 0 &&
           steps_.size() % std::max(1u, network->per_node) == 0 &&
           (network->communicator_setup == 0 || sets <= network->communicators);
  }

  struct Group {
    std::vector<std::uint32_t> members;
    std::uint32_t present = 0;
  };
  std::vector<Group> groups_;
  std::array<std::vector<std::uint32_t>, phases> group_of_;  // [phase][learner]
  std::vector<std::uint32_t> steps_;                         // [learner]
};

}  // namespace

std::unique_ptr<GroupSchedule> make_static_groups(std::uint32_t learners) {
  return std::make_unique<StaticGroups>(learners);
}

}  // namespace gradrace
