#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "sim/make_protocol.h"

namespace gradrace {

inline constexpr std::string_view momentum_states[] = {"kept", "reset", "averaged"};

/// One of those.
inline MomentumState momentum_state_named(std::string_view name) {
  const auto found = std::ranges::find(momentum_states, name);
  return static_cast<MomentumState>(std::distance(std::begin(momentum_states), found));
}

}  // namespace gradrace
