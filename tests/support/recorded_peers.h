#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/race.h"

namespace gradrace {

/// What a protocol without a server ordered.
struct PeerOrder {
  // begin: a collective; push, pull: to and from a coordinator
  enum class Kind : std::uint8_t { compute, begin, average, step, pair, push, pull };
  Kind kind;
  double time;
  std::vector<std::uint32_t> learners;
};

/// "7 average 0 1 2"
std::string text(const PeerOrder& order);

/// The race with the orders of its protocol written down, from its start on.
Race recorded(Race race, std::vector<PeerOrder>& orders);

/// Learners whose minibatches take the given times in the order of their dispatch.  A message takes
/// half a unit of time: a ring of g learners g - 1.  per_node: of nodes, 0 is a mesh.
Race by_hand(const std::string& protocol, std::uint32_t learners,
             const std::vector<double>& runtimes, std::uint64_t updates,
             std::uint32_t per_node = 0);

/// What happens in such a race but steps, a line an order.
std::vector<std::string> orders(const std::string& protocol, std::uint32_t learners,
                                const std::vector<double>& runtimes, std::uint64_t updates,
                                std::uint32_t per_node = 0);

}  // namespace gradrace
