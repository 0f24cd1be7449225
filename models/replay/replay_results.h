#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "models/replay/lowering.h"
#include "sim/device.h"
#include "sim/hash.h"

namespace gradrace {

/// Adds the numbers' bits.
template <class Real>
void add_bits(Hash& hash, std::span<const Real> w) {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  for (const Real x : w) hash.add(std::bit_cast<Bits>(x));
}

/// The mean of some numbers of one run since the evaluation before, program by program.
class MeanSinceEvaluation {
 public:
  /// values: of the program; `before`: how many of them precede an evaluation.  tell(number of the
  /// evaluation, mean), NaN where there was none.
  template <class Tell>
  void add(const Program& program, std::span<const double> values,
           std::uint32_t SlotEvaluation::*before, const Tell& tell) {
    std::uint32_t noted = 0;
    for (std::size_t i = 0; i < program.evaluated.size(); ++i) {
      const std::uint32_t end = program.evaluated[i].*before;
      note(values.subspan(noted, end - noted));
      noted = end;
      tell(i, sum_ / count_);
      sum_ = count_ = 0;
    }
    note(values.subspan(noted));
  }

 private:
  void note(std::span<const double> values) {
    for (const double value : values)
      if (!std::isnan(value)) sum_ += value, ++count_;
  }

  double sum_ = 0, count_ = 0;
};

/// Results::rate_factors of one run, program by program.
class RateFactors {
 public:
  RateFactors() = default;
  explicit RateFactors(const Tape& tape) {
    for (const Rule& rule : tape.rules) wanted_ = wanted_ || rule.distance > 0;
  }

  bool wanted() const { return wanted_; }

  /// factors [uses of the program]: what Rule::distance left of each weight.
  void add(const Program& program, std::span<const double> factors, Results& results) {
    if (!wanted_) return;
    mean_.add(program, factors, &SlotEvaluation::uses, [&](std::size_t, double mean) {
      results.rate_factors.push_back(std::isnan(mean) ? 1 : mean);
    });
  }

 private:
  bool wanted_ = false;
  MeanSinceEvaluation mean_;
};

}  // namespace gradrace
