#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gradrace {

/// Mean time between updates of the first N fresh gradients, where a learner that is late finishes
/// its minibatch, drops it and rejoins the step in progress (Pan et al., 2017, Algorithm 4), and
/// minibatch times are exponential with those means, one a learner.  Exact: the late learners of
/// the steps are a Markov chain, whose stationary law is found.  Learners of equal means count as
/// one class; nothing where the classes have too many states.
std::optional<double> rejoining_step(const std::vector<double>& means, std::uint32_t n);

}  // namespace gradrace
