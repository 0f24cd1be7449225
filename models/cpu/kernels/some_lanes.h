#pragma once

#include <cstddef>

#include "models/cpu/kernels/inline.h"

/// Lanes where there may be less than all of them: the others are 0, and not written.
namespace gradrace::kernels {
namespace {

GRADRACE_INLINE Lanes some_lanes(const Lanes::Number* p, std::size_t left) {
  return left >= Lanes::count ? Lanes::load(p) : Lanes::some(p, left);
}
GRADRACE_INLINE void put_lanes(Lanes x, Lanes::Number* p, std::size_t left) {
  if (left >= Lanes::count)
    x.store(p);
  else
    x.store_some(p, left);
}

}  // namespace
}  // namespace gradrace::kernels
