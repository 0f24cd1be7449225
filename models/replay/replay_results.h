#pragma once

#include <bit>
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
    std::uint32_t use = 0;
    for (const SlotEvaluation& evaluation : program.evaluated) {
      note(factors.subspan(use, evaluation.uses - use));
      use = evaluation.uses;
      results.rate_factors.push_back(count_ > 0 ? sum_ / count_ : 1);
      sum_ = count_ = 0;
    }
    note(factors.subspan(use));
  }

 private:
  void note(std::span<const double> factors) {
    for (const double factor : factors) sum_ += factor, ++count_;
  }

  bool wanted_ = false;
  double sum_ = 0, count_ = 0;  // since the evaluation before
};

}  // namespace gradrace
