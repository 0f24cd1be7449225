#include "protocols/staleness/bound.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "sim/server_filter.h"

namespace gradrace {

namespace {

/// What a bound leaves of what its protocol says of itself.
class Bounded : public ServerProtocol {
 public:
  Bounded(std::unique_ptr<ServerProtocol> protocol, std::uint32_t bound)
      : protocol_(std::move(protocol)), bound_(bound) {}

  std::uint32_t k() const override { return protocol_->k(); }
  Traits traits() const override {
    Traits traits = protocol_->traits();
    traits.never_waits = false;
    traits.by_shard = false;
    traits.bounds_staleness = true;
    return traits;
  }

 protected:
  const std::unique_ptr<ServerProtocol> protocol_;
  const std::uint32_t bound_;
};

class Dropping final : public Bounded {
 public:
  using Bounded::Bounded;

  void start(Server& server) override { protocol_->start(server); }
  void on_gradient(Server& server, const GradientFacts& arrival) override {
    if (server.version() - arrival.version <= bound_)
      return protocol_->on_gradient(server, arrival);
    server.drop(arrival);
    server.dispatch(arrival.learner);
  }

  /// Of equal memoryless learners whose gradients are updates, E[X] / (P a): the share a of
  /// gradients that are used solves 1 - a = (a (P - 1) / (1 + a (P - 1)))^(s + 1), if updates by
  /// others come as a Poisson process of rate a (P - 1) / E[X].
  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    constexpr std::uint32_t fewest =
        8;  // below, others' updates are too far from a Poisson process
    if (k() != 1 || conditions.learners < fewest || !conditions.law ||
        conditions.law->ageing() != Ageing::memoryless)
      return {};
    const double others = conditions.learners - 1.0;
    double none = 0, all = 1;
    for (int halving = 0; halving < 60; ++halving) {
      const double a = (none + all) / 2;
      const bool more = 1 - a > std::pow(a * others / (1 + a * others), bound_ + 1.0);
      (more ? none : all) = a;
    }
    const double used = (none + all) / 2;
    return {{conditions.law->mean() / (conditions.learners * used), Basis::approximate}};
  }
};

/// Gradients that are neither used nor taken for the next update, by the version that they were
/// read at.
class UnderWay {
 public:
  UnderWay(std::uint32_t bound, std::uint32_t k) : bound_(bound), k_(k) {}

  /// One is read at the current version.
  void add() { ++counts_.back(), ++all_; }
  void take(std::uint32_t version) {
    --counts_[version - oldest_], --all_;
    for (; counts_.size() > 1 && counts_.front() == 0; ++oldest_) counts_.pop_front();
  }
  /// An update is made of those that were taken.
  void update() {
    counts_.push_back(0);
    for (; counts_.size() > 1 && counts_.front() == 0; ++oldest_) counts_.pop_front();
  }

  bool may_begin(std::uint32_t taken) const { return all_ + taken < room(now()); }
  /// Whether those of older versions than that one can be used in time if one of that is taken.
  bool may_take(std::uint32_t version, std::uint32_t taken) const {
    if (all_ + taken < room(oldest_)) return true;
    std::uint64_t older = 0;
    for (std::uint32_t v = oldest_; v < version; ++v) {
      older += counts_[v - oldest_];
      if (older + taken >= room(v)) return false;
    }
    return true;
  }

 private:
  std::uint32_t now() const { return oldest_ + static_cast<std::uint32_t>(counts_.size()) - 1; }
  /// How many gradients of that version and older can be used in time, what is taken included.
  std::uint64_t room(std::uint32_t version) const {
    return std::uint64_t{k_} * (bound_ - std::min(bound_, now() - version) + 1);
  }

  const std::uint32_t bound_, k_;
  std::uint32_t oldest_ = 0;
  std::deque<std::uint32_t> counts_{0};  // [version - oldest_], up to the current one
  std::uint64_t all_ = 0;
};

class Pacing final : public Bounded, private ServerFilter {
 public:
  Pacing(std::unique_ptr<ServerProtocol> protocol, std::uint32_t bound)
      : Bounded(std::move(protocol), bound), under_way_(bound, protocol_->k()) {}

  Traits traits() const override {
    Traits traits = Bounded::traits();
    traits.no_phase = "max_staleness.beyond";
    return traits;
  }

  void start(Server& server) override {
    stand_before(server);
    read_.assign(server.learners(), 0);
    returned_ = everyone(server.learners());
    protocol_->start(*this);
    begin();
  }

  void on_gradient(Server& server, const GradientFacts& arrival) override {
    stand_before(server);
    server.hold(arrival);
    held_.push_back(arrival);
    go_on();
  }
  /// A lost gradient is not waited for.
  void on_loss(Server& server, std::uint32_t learner) override {
    stand_before(server);
    under_way_.take(read_[learner]);
    go_on();
  }
  /// Who is back begins at once, be it one too many.
  void on_return(Server& server, std::uint32_t learner) override {
    read_[learner] = server.version();
    under_way_.add();
  }
  void on_timer(Server& server) override {
    stand_before(server);
    go_on();
  }

 private:
  // What the protocol orders.
  void dispatch(std::uint32_t learner) override {
    std::erase(returned_, learner);
    idle_.push_back(learner);
  }
  void dispatch_waiting() override {
    std::ranges::sort(returned_);
    idle_.insert(idle_.end(), returned_.begin(), returned_.end());
    returned_.clear();
  }
  void update() override {
    server().update();
    under_way_.update();
  }
  void apply(const GradientFacts& arrival) override {
    server().apply(arrival);
    under_way_.update();
  }

  /// Takes what has arrived, up to an update; the next is made when that has been seen.
  void go_on() {
    const std::uint32_t before = server().version();
    while (take_oldest())
      if (server().version() > before && !held_.empty()) return server().timer(server().time());
    begin();
  }

  bool take_oldest() {
    if (held_.empty()) return false;
    const auto oldest = std::ranges::min_element(
        held_, {}, [&](const GradientFacts& one) { return read_[one.learner]; });
    const GradientFacts gradient = *oldest;
    const std::uint32_t version = read_[gradient.learner];
    if (!under_way_.may_take(version, server().accepted())) return false;
    held_.erase(oldest);
    under_way_.take(version);
    server().release(gradient);
    if (server().version() - version > bound_) {  // there were too many
      server().drop(gradient);
      idle_.push_back(gradient.learner);
      return true;
    }
    returned_.push_back(gradient.learner);
    protocol_->on_gradient(*this, gradient);
    return true;
  }

  /// Idle learners, as many as may.
  void begin() {
    while (!idle_.empty() && under_way_.may_begin(server().accepted())) {
      const std::uint32_t learner = idle_.front();
      idle_.pop_front();
      server().dispatch(learner);
      if (!server().computing(learner)) continue;  // it is down: on_return() tells when it begins
      read_[learner] = server().version();
      under_way_.add();
    }
  }

  UnderWay under_way_;
  std::vector<std::uint32_t> read_;      // [learner]: the version of its gradient
  std::vector<GradientFacts> held_;      // arrived, in that order
  std::deque<std::uint32_t> idle_;       // learners that the protocol has sent on
  std::vector<std::uint32_t> returned_;  // whose gradients it has, and that wait for it
};

}  // namespace

void StalenessBound::visit(Fields& fields) {
  if (!fields.open("max_staleness", Need::none,
                   R"(of a gradient that is used, as {"bound": 4, "beyond": "drop"})"))
    return;
  given = true;
  fields.integer("bound", bound, Need::required, between(0, 1000000),
                 "updates made since the version that the gradient was computed at was read");
  paces = fields.second_of(
      "beyond", "drop", "pace",
      "drop a gradient that arrives staler; or pace, so that none does: learners begin, "
      "and updates are made, only where all that is under way can still be used in time; "
      "but who is back from a failure begins at once, so that some may be dropped then");
  fields.close();
}

std::unique_ptr<ServerProtocol> StalenessBound::around(
    std::unique_ptr<ServerProtocol> protocol) const {
  if (paces) return std::make_unique<Pacing>(std::move(protocol), bound);
  return std::make_unique<Dropping>(std::move(protocol), bound);
}

}  // namespace gradrace
