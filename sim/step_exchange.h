#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/peer_network.h"
#include "sim/theory.h"

namespace gradrace {

/// What all learners exchange at once in a step that they make together; a step has several, one
/// after another.
struct StepExchange {
  double forward = 1, backward = 1;  // shares of the work of the two passes that are done before it
  double share = 1;                  // of the model's bytes, which each member has
  std::uint32_t members = 0;         // of a group, as many of which as there can be; 0: all
  bool holds = false;  // computing waits for it, half of a collective, and members are neighbours
                       // by number; else they are as far apart as they can be

  /// The share of a minibatch's time after which it begins, if nothing holds that up; of which the
  /// backward pass is such a part.
  double begins(double backward_pass) const {
    return forward < 1 ? (1 - backward_pass) * forward : 1 - backward_pass * (1 - backward);
  }
  std::uint32_t groups(std::uint32_t learners) const {
    return members > 0 ? learners / members : 1;
  }
  /// Who are in the group of that number, of so many learners.
  std::vector<std::uint32_t> group(std::uint32_t number, std::uint32_t learners) const;
};

/// The time of one, undisturbed.
double time_of(const StepExchange& exchange, const Conditions& conditions);

/// The mean time of a step whose exchanges take those times, one after another; see the next.
std::optional<double> step_time(std::span<const StepExchange> exchanges,
                                std::span<const double> times, double backward_pass,
                                const Conditions& conditions);

/// The mean time of a step.  If the slowest learner's minibatch takes M, the step takes the longest
/// of some a + s M, one for each exchange before which nothing waits.
std::optional<Estimate> step_time(std::span<const StepExchange> exchanges, double backward_pass,
                                  const Conditions& conditions);

}  // namespace gradrace
