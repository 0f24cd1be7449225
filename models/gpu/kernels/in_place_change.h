#pragma once

#include <cstdint>

namespace gradrace::kernels {

/// A gradient of n rows, whose factors are in that place: of each layer what it looks at and the
/// derivative by what it gives.
struct FactoredUse {
  std::uint32_t place, n;
};

/// An update of a run that moves one state in place, the gradient computed at what it gives, or
/// both: steps of a Program of the early order.  Where the state at hand is not the value in base,
/// that is loaded first.
struct alignas(16) InPlaceChange {
  std::uint32_t base, out;      // slots
  std::uint32_t first, count;   // of the run's uses: those of the update
  FactoredUse old;              // the first of them
  FactoredUse fresh;            // of the gradient; of no rows: there is none
  std::uint32_t learner, draw;  // likewise
  double rate;                  // sum of the update's weights
  float weight;                 // of the gradient
  std::uint16_t rule;           // index into Tape::rules
  bool updates;                 // else there is no update
  bool stored;                  // out goes to its slot as well
};

}  // namespace gradrace::kernels
