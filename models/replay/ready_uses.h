#pragma once

#include <cstddef>
#include <cstdint>

#include "models/replay/lowering.h"

namespace gradrace {

/// Uses [first, last) of a program.
struct UseRange {
  std::uint32_t first = 0, last = 0;

  bool has(std::uint32_t use) const { return first <= use && use < last; }
};

/// Those from the use of the update `step` on, at most so many, whose gradients can be computed
/// side by side before it: each is used once, and no step before its own overwrites its value.  In
/// the late order.
UseRange ready_uses(const Program& program, std::size_t step, std::uint32_t use,
                    std::uint32_t most);

}  // namespace gradrace
