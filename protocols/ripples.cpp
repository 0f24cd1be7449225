#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/groups/group_schedule.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "ripples",
    .definition = R"(A learner makes a step by its own gradient; then its group's values are
averaged (a partial all-reduce), each keeps its optimiser's state, and it goes on.  A learner joins
a group only there, at its synchronisation point, and a group begins when all of its members are
there; a group of one costs nothing.  Every gradient is an update.  `schedule` says who is in a
group:

`static`: by a table of four phases, the learner's steps modulo 4, and its place 0 ... 3 in its
node.  Phase 0: all of place 0; those of place 1 alone; 2 and 3 of a node.  Phase 2: 0 and 3 of a
node; all of place 1; those of place 2 alone.  Phases 1 and 3: all of a node.  Nodes have four
learners, or P is a multiple of four and learners are taken by fours.

`random`: every request makes a group of its learner and `group` - 1 others drawn at random.  A
group is given out when none of its members is in one that is; groups that wait are looked at in the
order of their requests.  A learner goes on when the group that it asked for is done; until then it
takes part in others.

The others keep a buffer of groups for each learner.  A request with an empty buffer makes groups,
which go to the end of their members' buffers; a request with another takes the first of it.  A
group begins when it is the first of all its members' buffers.

`group-buffer`: a group is made as with `random`.  `group-division`: all learners with empty
buffers, I of them, are divided at random into round(I / group) groups, at least one, whose sizes
differ by at most one.  `inter-intra`: they get two groups each; first one of each node, at random,
for a group across nodes, while the others of a node are divided as before; then all of them that
are of one node.

With `filter` C the request of learner i takes learner w only if c_i - c_w < C, where c counts
requests.

Where learners fail (`cluster.failures`) those that are absent are drawn for no group, and groups
that were made with one go on without it; a group that has not begun and that it asked for is none
any more.

A conflict is a request whose group cannot begin, however soon its members come, before another
group of one of them has ended.)",
    .source =
        "Luo, He, Zhuo, Qian, arXiv 1909.08029 (Ripples); the same, ASPLOS 2020 (Prague); the "
        "table: the authors' program preduce",
    .example = R"({"kind": "ripples", "schedule": "group-division"})"};

struct Config {
  std::string schedule;
  GroupRule rule;
  std::uint32_t per_node = 0;
};

std::unique_ptr<GroupSchedule> make_schedule(const Config& config) {
  if (config.schedule == "static") return make_static_groups(config.rule.learners);
  if (config.schedule == "random") return make_random_groups(config.rule);
  if (config.schedule == "group-buffer") return make_group_buffer(config.rule);
  if (config.schedule == "group-division") return make_group_division(config.rule);
  return make_inter_intra(config.rule, config.per_node);
}

class Ripples final : public PeerProtocol {
 public:
  explicit Ripples(const Config& config)
      : config_(config), by_table_(config.schedule == "static") {}

  void start(Peers& peers) override {
    schedule_ = make_schedule(config_);
    groups_.resize(config_.rule.learners);
    PeerProtocol::start(peers);
  }

  void on_gradient(Peers& peers, const GradientFacts& arrival) override {
    peers.step(arrival);
    schedule_->request(peers, arrival.learner, ready_);
    go_on(peers);
  }

  void on_exchange(Peers& peers, std::uint32_t exchange) override {
    const std::uint32_t group = groups_[exchange];
    peers.average(schedule_->members(group));
    schedule_->finish(group, ready_, leaving_);
    go_on(peers);
  }

  void on_leave(Peers& peers, std::uint32_t learner) override {
    schedule_->leave(learner, ready_);
    go_on(peers);
  }
  void on_return(Peers& peers, std::uint32_t learner) override {
    schedule_->come_back(peers, learner);
    peers.compute(learner);
  }

  Traits traits() const override {
    return {.asks_for_groups = true,
            .goes_on_without = true,
            .no_failures = by_table_ ? "schedule" : "",
            .begins_alone = true,
            .may_be_phase = true};
  }

  Theory theory(const Conditions& conditions) const override {
    Theory theory;
    theory.staleness = 0.0;
    theory.iteration_time = make_schedule(config_)->iteration_time(conditions);
    return theory;
  }
  std::optional<Mixing> mixing() const override { return make_schedule(config_)->mixing(); }

 private:
  void go_on(Peers& peers) {
    for (std::size_t i = 0; i < ready_.size(); ++i) {  // which grows
      const auto members = schedule_->members(ready_[i]);
      if (members.size() == 1) {
        schedule_->finish(ready_[i], ready_, leaving_);
      } else {
        groups_[peers.collective(members)] = ready_[i];
      }
    }
    ready_.clear();
    for (const std::uint32_t learner : leaving_) peers.compute(learner);
    leaving_.clear();
  }

  const Config config_;
  const bool by_table_;
  std::unique_ptr<GroupSchedule> schedule_;  // of a run
  std::vector<std::uint32_t> groups_;        // [exchange], of those under way
  std::vector<std::uint32_t> ready_, leaving_;
};

MakeProtocol read(Fields& fields, const Setting& setting) {
  Config config;
  config.rule.learners = setting.learners;
  config.per_node = setting.per_node;
  config.rule.group = std::min(config.rule.group, setting.learners);
  constexpr std::string_view schedules[] = {"static", "random", "group-buffer", "group-division",
                                            "inter-intra"};
  fields.choice("schedule", config.schedule, schedules, Need::required, "who averages with whom");
  const bool by_table = config.schedule == "static";
  fields.integer("group", config.rule.group, by_table ? Need::none : Need::defaulted,
                 between(1, setting.learners, "cluster.learners"),
                 "learners of a group, or nearly so many");
  fields.integer("filter", config.rule.filter, at_least(1),
                 "a request takes no learner that is behind by so many requests (default: any)");
  if (!fields.good()) return {};
  if (by_table) {
    for (const std::string_view key : {"group", "filter"})
      if (fields.has(key)) fields.complain(key, "says nothing with the schedule static");
    if (setting.learners % 4 != 0 && setting.per_node != 4) {
      fields.complain("schedule", "static is for nodes of four learners, or learners by fours",
                      "cluster.learners a multiple of 4, or cluster.network.per_node 4");
    }
  }
  return [config] { return std::make_unique<Ripples>(config); };
}

}  // namespace

extern const ProtocolEntry ripples_entry{page, read};

}  // namespace gradrace
