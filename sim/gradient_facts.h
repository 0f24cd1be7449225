#pragma once

#include <cstdint>

#include "sim/tape.h"

namespace gradrace {

/// A gradient, as the timing plane knows it.
struct GradientFacts {
  GradientId gradient;
  std::uint32_t learner;
  std::uint32_t version;  // age of the value that it is computed at: updates of a server's model
  std::uint32_t draw;
  std::uint16_t plan;           // of the race, that it was dispatched under
  std::uint32_t staleness = 0;  // once an update has it
  double begin = 0;             // its dispatch
  double computed = 0;          // how long its learner computed it; once it has ended
};

}  // namespace gradrace
