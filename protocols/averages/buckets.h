#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/peer_network.h"
#include "sim/peer_protocol.h"
#include "sim/reading/fields.h"

namespace gradrace {

/// What all learners exchange after a minibatch of each, in parts, of which part b of B is there at
///
///     1 - backward (1 - b / B)
///
/// of a learner's minibatch, and is exchanged when all have it and the part before is done.
class Buckets {
 public:
  struct Config {
    std::uint32_t buckets = 1;
    double backward = 2.0 / 3;
  };
  static void visit(Fields& fields, Config& config, std::string_view of_buckets) {
    fields.integer("buckets", config.buckets, Need::defaulted, between(1, 1e6), of_buckets);
    fields.real("backward", config.backward, Need::defaulted, between(0, 1),
                "share of a minibatch's time that is its backward pass");
    fields.idle("backward", config.buckets == 1 && config.backward != Config().backward,
                "says nothing of one bucket, which is exchanged when all is computed",
                "buckets from 2 on");
  }

  explicit Buckets(const Config& config) : config_(config) {}

  double share() const { return 1.0 / config_.buckets; }

  /// Before those minibatches.
  void start() {
    part_ = 0;
    under_way_ = false;
    ready_.assign(config_.buckets - 1, 0);
  }

  /// The learner has begun its own.
  void begun(const Peers& peers, std::uint32_t learner) {
    const double length = peers.due(learner) - peers.time();
    for (std::uint32_t b = 1; b < config_.buckets; ++b) {
      const double there = 1 - config_.backward * (1 - static_cast<double>(b) / config_.buckets);
      ready_[b - 1] = std::max(ready_[b - 1], peers.time() + there * length);
    }
  }

  /// All have: the next part is exchanged when all have it, of which the timer tells, the last
  /// one if they are done.
  void await(Peers& peers, bool are_done) {
    if (under_way_) return;
    if (part_ + 1 < config_.buckets)
      peers.timer(std::max(peers.time(), ready_[part_]));
    else if (are_done)
      exchange(peers);
  }

  void exchange(Peers& peers) {
    ++part_;
    under_way_ = true;
    peers.collective(peers.present(), share(), Payload::messages);
  }

  /// An exchange has ended; whether it was the last.
  bool ended() {
    under_way_ = false;
    return part_ == config_.buckets;
  }

  /// Time of so much computing of all, the last of it the slowest learner's minibatch M, which they
  /// begin together, and of the exchange, of which a part takes t, where it is known.  Parts are
  /// there at shares of M that rise evenly, so that either the first part or none before the last
  /// is waited for:
  ///
  ///     computing + t + (B - 1) backward / B E[max(0, B t / backward - M)].
  std::optional<double> time(double computing, const Conditions& conditions, double part) const {
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
  const Config config_;
  std::uint32_t part_ = 0;  // begun
  bool under_way_ = false;
  std::vector<double> ready_;  // [b - 1]: when all have part b, but for the last
};

}  // namespace gradrace
