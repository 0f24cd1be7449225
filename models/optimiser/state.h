#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "sim/host_device.h"

namespace gradrace {

/// A part of what an optimiser keeps beside the parameters: one number, or one for each parameter
/// that is learnt; all are `start` at first.
struct StatePart {
  enum class Length : std::uint8_t { one, learnt };
  Length length;
  double start;
};

constexpr std::size_t most_parts = 3;  // of any optimiser
/// Those parts that may have a number for each parameter: the first ones.
constexpr std::size_t number_parts = 2;

/// One model state in memory.
template <class Real>
struct StateAt {
  Real* w;                  // [parameters]
  Real* parts[most_parts];  // in the optimiser's order; null: the run has no such part
  Real* average;            // [parameters], of an ema; null: there is none

  GRADRACE_HD const Real* evaluated() const { return average != nullptr ? average : w; }
};

/// Where the numbers of the states of a run are: w, then what is kept beside it, each part at a
/// multiple of four numbers.
struct StateLayout {
  std::uint32_t parameters, learnt;  // the other parameters are statistics
  std::uint64_t beside;              // where what is kept beside w begins
  std::uint64_t numbers;             // of a state
  std::uint64_t parts[most_parts];   // where each begins; 0: there is none
  std::uint64_t average;
  std::uint64_t mean_square;  // [learnt], of an adaptive DelayCompensation; 0: there is none

  GRADRACE_HD bool only_w() const { return numbers == beside; }

  /// The state that begins there.
  template <class Real>
  GRADRACE_HD StateAt<Real> at(Real* begin) const {
    return at(begin, begin + beside);
  }

  /// The state whose w is at one place, and what is kept beside it at another.
  template <class Real>
  GRADRACE_HD StateAt<Real> at(Real* w, Real* rest) const {
    const auto place = [&](std::uint64_t at) { return at > 0 ? rest + (at - beside) : nullptr; };
    StateAt<Real> state{w, {}, place(average)};
    for (std::size_t part = 0; part < most_parts; ++part) state.parts[part] = place(parts[part]);
    return state;
  }
};

/// A part of a state before and after an update; null where the run has no such part.
template <class Real>
struct PartMove {
  const Real* from;
  Real* to;
};

/// An update of a state by gradients whose weights sum to `rate`: out = base moved.
template <class Real>
struct Update {
  StateAt<Real> base, out;
  double rate;

  GRADRACE_HD PartMove<Real> part(std::size_t part) const {
    return {base.parts[part], out.parts[part]};
  }

  /// Nothing can be divided by the rate.
  GRADRACE_HD bool vanishes() const {
    constexpr double least = std::numeric_limits<Real>::min();
    return !(rate >= least);
  }
};

}  // namespace gradrace
