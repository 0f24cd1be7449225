#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "models/cpu/aligned.h"
#include "models/model/packing.h"
#include "models/optimiser/optimiser.h"
#include "models/optimiser/statistics.h"
#include "sim/check.h"
#include "sim/compressor.h"
#include "sim/lane_sum.h"
#include "sim/tape.h"

namespace gradrace {

/// A memory before and after a message [numbers]; before is null where it is 0, both are where
/// there is none.  bits: the sum of those of its numbers, as the message before left them, and as
/// this one does.
template <class Real>
struct MemoryRows {
  const Real* before = nullptr;
  Real* after = nullptr;
  std::uint64_t* bits = nullptr;
  const std::uint64_t* bits_before = nullptr;  // null: in `bits`
};

/// error: ||C(p) - p||^2 / ||p||^2, NaN of a message that is not made; bytes: where they vary.
struct MadeMessage {
  double error, bytes = 0;
};

/// Makes messages, as Message says.
///
/// Checks: a memory is as the message before left it, to the bit, so that nothing is lost of what
/// is put in and not sent.
template <class Real>
class MessageMaker {
 public:
  MessageMaker(Packing packing, Statistics statistics)
      : packing_(std::move(packing)), statistics_(statistics) {}

  /// row [numbers of the packing]: what is to be sent, which is clipped by that factor and becomes
  /// the message.  `words` and what is carried are the compressor's.
  MadeMessage make(const Message& message, double factor, bool lost, Stream words,
                   std::span<Real> row, const MemoryRows<Real>& memory,
                   std::span<Real> carried = {}) {
    const std::span<Real> g = learnt(row, statistics_);
    const auto weight = static_cast<Real>(factor);
    if (!memory.after) {
      if (weight != 1)
        for (Real& x : g) x *= weight;
      return pass(message, words, row, carried);
    }
    std::fill(memory.after + g.size(), memory.after + row.size(), Real{0});
    if (message.memory->estimate)
      return follow(*message.memory->estimate, message, weight, words, row, memory);
    const auto decay = static_cast<Real>(message.memory->decay);
    Real* const after = memory.after;
    if (memory.before)
      check(memory, sum_of_bits(g.size(), [&, before = memory.before](std::size_t j) {
              after[j] = weight * g[j] + decay * before[j];
              return before[j];
            }));
    else
      for (std::size_t j = 0; j < g.size(); ++j) after[j] = weight * g[j];
    if (lost && message.memory->takes_back) {
      *memory.bits = sum_of_bits(g.size(), [after](std::size_t j) { return after[j]; });
      return {std::numeric_limits<double>::quiet_NaN()};
    }
    std::copy_n(after, g.size(), g.data());
    const MadeMessage made = pass(message, words, row, carried);
    *memory.bits = sum_of_bits(g.size(), [&](std::size_t j) { return after[j] -= g[j]; });
    return made;
  }

 private:
  /// What is to be sent is how far the gradient is from its estimate.
  MadeMessage follow(const EstimateSteps& steps, const Message& message, Real weight, Stream words,
                     std::span<Real> row, const MemoryRows<Real>& memory) {
    const std::span<Real> g = learnt(row, statistics_);
    const auto estimate = [&](std::size_t j) { return memory.before ? memory.before[j] : Real{0}; };
    if (memory.before)
      check(memory,
            sum_of_bits(g.size(), [before = memory.before](std::size_t j) { return before[j]; }));
    for (std::size_t j = 0; j < g.size(); ++j) g[j] = weight * g[j] - estimate(j);
    const MadeMessage made = pass(message, words, row, {});
    const auto lambda = static_cast<Real>(steps.lambda), nu = static_cast<Real>(steps.nu);
    *memory.bits = sum_of_bits(g.size(), [&](std::size_t j) {
      const Real h = estimate(j), sent = g[j];
      g[j] = h + nu * sent;
      return memory.after[j] = h + lambda * sent;
    });
    return made;
  }

  /// Of the bits of number(0) and so on, as whole numbers that overflow.
  template <class Number>
  static std::uint64_t sum_of_bits(std::size_t numbers, const Number& number) {
    using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
    Bits sum = 0;
    for (std::size_t j = 0; j < numbers; ++j) sum += std::bit_cast<Bits>(number(j));
    return sum;
  }
  static void check(const MemoryRows<Real>& memory, std::uint64_t bits_before) {
    const std::uint64_t* const left = memory.bits_before ? memory.bits_before : memory.bits;
    GRADRACE_CHECK(bits_before == *left, "a memory is as the message before left it");
  }

  /// In the definition's order.
  MadeMessage pass(const Message& message, Stream words, std::span<Real> row,
                   std::span<Real> carried) {
    in_order_.resize(packing_.parameters());
    before_.resize(packing_.parameters());
    packing_.unpack(row.data(), in_order_.data());
    const std::span<Real> sent = learnt(std::span<Real>(in_order_), statistics_);
    std::ranges::copy(sent, before_.begin());
    const double bytes = message.compressor->pass(sent, words, carried);
    packing_.pack(in_order_.data(), row.data());
    const auto square = [](double x) { return x * x; };
    const double error =
        lane_sum(sent.size(), [&](std::size_t j) { return square(sent[j] - before_[j]); });
    return {error / lane_sum(sent.size(), [&](std::size_t j) { return square(before_[j]); }),
            bytes};
  }

  Packing packing_;
  Statistics statistics_;
  Aligned<Real> in_order_, before_;  // [parameters], once a message was made
};

}  // namespace gradrace
