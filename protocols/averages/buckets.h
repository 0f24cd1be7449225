#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/layers.h"
#include "sim/make_protocol.h"
#include "sim/peer_network.h"
#include "sim/reading/fields.h"
#include "sim/step_exchange.h"

namespace gradrace {

/// What all learners exchange in a minibatch that they make together, in parts, of which part b of
/// B equal ones is there at
///
///     1 - backward (1 - b / B)
///
/// of a learner's minibatch; or layer by layer.  A part is exchanged when all have it and the part
/// before is done.
class Buckets {
 public:
  struct Config {
    std::uint32_t buckets = 1;
    double backward = 2.0 / 3;
    std::shared_ptr<const std::vector<StepExchange>> of_layers = {};  // null: buckets

    std::uint32_t parts() const {
      return of_layers ? static_cast<std::uint32_t>(of_layers->size()) : buckets;
    }
    StepExchange part(std::uint32_t number) const {
      if (of_layers) return (*of_layers)[number];
      const double B = buckets;
      return {.backward = (number + 1) / B, .share = 1 / B};
    }
  };
  static void visit(Fields& fields, Config& config, const Setting& setting,
                    std::string_view of_buckets) {
    if (setting.layers)
      config.of_layers = std::make_shared<const std::vector<StepExchange>>(
          exchanges_of(*setting.layers, setting.learners));
    fields.integer("buckets", config.buckets, Need::defaulted, between(1, 1e6), of_buckets);
    fields.real("backward", config.backward, Need::defaulted, between(0, 1),
                "share of a minibatch's time that is its backward pass");
    fields.idle("buckets", config.of_layers && config.buckets > 1,
                "says nothing where each layer is exchanged (cluster.network.layers)",
                "without it, or without layers");
    fields.idle("backward",
                config.buckets == 1 && !config.of_layers && config.backward != Config().backward,
                "says nothing of one bucket, which is exchanged when all is computed",
                "buckets from 2 on");
  }

  explicit Buckets(const Config& config) : config_(config) {}

  double share() const { return 1.0 / config_.buckets; }

  /// Before those minibatches.
  void start() {
    part_ = 0;
    under_way_ = 0;
    held_ = 0;
    ready_.assign(config_.parts() + 1, 0);
  }

  /// Whether anything begins before all have computed.
  bool begins_early() const { return !waits_for_all(); }

  /// The learner has begun its own, now.
  void begun(const Peers& peers, std::uint32_t learner) {
    const double due = peers.computing(learner) ? peers.due(learner) : peers.time();
    const double length = due - peers.time();
    for (std::uint32_t number = 0; number < config_.parts(); ++number) {
      const double there = part(number).begins(config_.backward);
      ready_[number] = std::max(ready_[number], peers.time() + there * length);
    }
    ready_.back() = std::max(ready_.back(), due);
  }

  /// All have begun, or a part is exchanged: of the next one the timer tells, unless it waits for
  /// all to have computed.  Whether all is done.
  bool await(Peers& peers, bool all_have_computed) {
    if (under_way_ > 0) return false;
    if (waits_for_all()) return all_have_computed && go_on(peers);
    peers.timer(std::max(peers.time(), ready_[part_] + held_));
    return false;
  }

  /// All have computed.  Whether all is done.
  bool computed(Peers& peers) { return under_way_ == 0 && waits_for_all() && go_on(peers); }

  /// The next part is exchanged.  True: there is none.
  bool go_on(Peers& peers) {
    if (part_ == config_.parts()) return true;
    const StepExchange next = part(part_++);
    under_way_ = next.members > 0 ? next.groups(peers.learners()) : 1;
    if (next.members == 0) {
      peers.collective(peers.present(), next.share, Payload::messages);
      return false;
    }
    for (std::uint32_t number = 0; number < under_way_; ++number)
      peers.collective(next.group(number, peers.learners()), next.share,
                       next.holds ? Payload::activations : Payload::messages);
    return false;
  }

  /// An exchange has ended; whether it was the last of its part.
  bool ended(const Peers& peers) {
    if (--under_way_ > 0) return false;
    if (part(part_ - 1).holds) held_ = peers.time() - ready_[part_ - 1];
    return true;
  }

  /// Of all parts, undisturbed.
  double exchange_time(const Conditions& conditions) const {
    if (!config_.of_layers)
      return config_.buckets *
             collective_time(conditions.network, everyone(conditions.learners), share());
    double sum = 0;
    for (const StepExchange& exchange : *config_.of_layers) sum += time_of(exchange, conditions);
    return sum;
  }

  /// Time of so much computing of all, the last of it the slowest learner's minibatch M, which they
  /// begin together, and of the exchange, of which a part takes t, where it is known.  Parts are
  /// there at shares of M that rise evenly, so that either the first part or none before the last
  /// is waited for:
  ///
  ///     computing + t + (B - 1) backward / B E[max(0, B t / backward - M)];
  ///
  /// of layers computing, and what a step takes longer than M.
  std::optional<double> time(double computing, const Conditions& conditions) const {
    if (config_.of_layers && begins_early()) {
      const auto step = step_time(*config_.of_layers, config_.backward, conditions);
      if (!step) return {};
      return computing + (step->value - *slowest_minibatch(conditions));
    }
    const double part = collective_time(conditions.network, everyone(conditions.learners), share());
    const double alone = computing + part;
    const double B = config_.buckets, backward = config_.backward;
    if (B == 1 || part == 0) return alone;
    if (backward == 0) return alone + (B - 1) * part;
    const double hidden = B * part / backward;
    const auto covered = slowest_minibatch(conditions, hidden);
    if (!covered) return {};
    return alone + (B - 1) * backward / B * (hidden - *covered);
  }

 private:
  StepExchange part(std::uint32_t number) const { return config_.part(number); }
  /// What comes next; of other things the timer tells.
  bool waits_for_all() const {
    if (held_ > 0) return false;
    return part_ == config_.parts() || (part_ + 1 == config_.parts() && part(part_).backward == 1);
  }

  const Config config_;
  std::uint32_t part_ = 0;       // begun
  std::uint32_t under_way_ = 0;  // groups
  double held_ = 0;              // for so long computing has waited
  std::vector<double> ready_;    // when all would have computed so far; the last: all
};

}  // namespace gradrace
