#pragma once

#include <cstdint>

namespace gradrace::kernels {

/// An instruction of a device that keeps one state of a run at hand and moves it in place, so that
/// a gradient is computed as long as the value that it is computed at is still there.  What waits
/// for the update is then the gradient's factors: of each layer what it looks at and the derivative
/// by what it gives.
struct Instruction {
  enum class Kind : std::uint8_t {
    load,    // the state = what is in the slot
    factor,  // of use `first`, at the state, into its place
    update,  // the state is moved by uses [first, first + count), in that order
    store,   // what is in the slot = the state
  };
  Kind kind;
  std::uint16_t rule;  // of an update: index into Tape::rules
  std::uint32_t slot;
  std::uint32_t first, count;

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

/// A use whose gradient's factors are in that place.
struct FactoredUse {
  std::uint32_t place;
  std::uint32_t at;  // the slot of the value that it was computed at; moved: the one it moves
  std::uint32_t learner, draw, recipe;
  double weight;

  static constexpr std::uint32_t moved = ~std::uint32_t{0};
};

}  // namespace gradrace::kernels
