#pragma once

#include <cstddef>

#include "models/cpu/kernels/inline.h"

/// The first numbers of lanes alone, through memory, where an instruction set has no masks.
namespace gradrace::kernels {
namespace {

/// The others are 0.
template <class Lanes>
GRADRACE_INLINE Lanes some_of(const float* p, std::size_t numbers) {
  float all_numbers[Lanes::count] = {};
  for (std::size_t i = 0; i < numbers; ++i) all_numbers[i] = p[i];
  return Lanes::load(all_numbers);
}

template <class Lanes>
GRADRACE_INLINE void store_some_of(const Lanes& lanes, float* p, std::size_t numbers) {
  float all_numbers[Lanes::count];
  lanes.store(all_numbers);
  for (std::size_t i = 0; i < numbers; ++i) p[i] = all_numbers[i];
}

}  // namespace
}  // namespace gradrace::kernels
