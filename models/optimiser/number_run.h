#pragma once

#include <cstdint>

namespace gradrace {

/// Numbers first, ..., last - 1 of a value.
struct NumberRun {
  std::uint32_t first, last;
};

}  // namespace gradrace
