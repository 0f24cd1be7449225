#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
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
/// there is none.  `sum`: of its numbers, as the message before left them.
template <class Real>
struct MemoryRows {
  const Real* before = nullptr;
  Real* after = nullptr;
  double* sum = nullptr;
};

/// Makes messages, as Message says.
///
/// Checks: a memory is as the message before left it; what is sent and what is left out add up to
/// what was put in.
template <class Real>
class MessageMaker {
 public:
  MessageMaker(Packing packing, Statistics statistics)
      : packing_(std::move(packing)), statistics_(statistics) {}

  /// row [numbers of the packing]: what is to be sent, which is clipped by that factor and becomes
  /// the message.  `words` are the compressor's.  What a message says is so far from what was to be
  /// sent: ||C(p) - p||^2 / ||p||^2, NaN of one that is not made.
  double make(const Message& message, double factor, bool lost, Stream words, std::span<Real> row,
              const MemoryRows<Real>& memory) {
    const std::span<Real> g = learnt(row, statistics_);
    const auto weight = static_cast<Real>(factor);
    if (!memory.after) {
      if (weight != 1)
        for (Real& x : g) x *= weight;
      return pass(message, words, row).error();
    }
    check_memory(memory, g.size());
    std::fill(memory.after + g.size(), memory.after + row.size(), Real{0});
    if (message.memory->estimate)
      return follow(*message.memory->estimate, message, weight, words, row, memory);
    const auto decay = static_cast<Real>(message.memory->decay);
    const Real* const before = memory.before;
    Real* const after = memory.after;
    const double put_in = lane_sum(g.size(), [&](std::size_t j) {
      return after[j] = before ? weight * g[j] + decay * before[j] : weight * g[j];
    });
    *memory.sum = put_in;
    if (lost && message.memory->takes_back) return std::numeric_limits<double>::quiet_NaN();
    std::copy_n(after, g.size(), g.data());
    const Squares squares = pass(message, words, row);
    const double sent = lane_sum(g.size(), [&](std::size_t j) { return g[j]; });
    *memory.sum = lane_sum(g.size(), [&](std::size_t j) { return after[j] -= g[j]; });
    check_conserved(put_in - sent - *memory.sum, squares, g.size());
    return squares.error();
  }

 private:
  /// Of what is to be sent, and of what the message lacks.
  struct Squares {
    double whole, lacking;
    double error() const { return lacking / whole; }
  };

  /// What is to be sent is how far the gradient is from its estimate.
  double follow(const EstimateSteps& steps, const Message& message, Real weight, Stream words,
                std::span<Real> row, const MemoryRows<Real>& memory) {
    const std::span<Real> g = learnt(row, statistics_);
    const auto estimate = [&](std::size_t j) { return memory.before ? memory.before[j] : Real{0}; };
    for (std::size_t j = 0; j < g.size(); ++j) g[j] = weight * g[j] - estimate(j);
    const double error = pass(message, words, row).error();
    const auto lambda = static_cast<Real>(steps.lambda), nu = static_cast<Real>(steps.nu);
    *memory.sum = lane_sum(g.size(), [&](std::size_t j) {
      const Real h = estimate(j), sent = g[j];
      g[j] = h + nu * sent;
      return memory.after[j] = h + lambda * sent;
    });
    return error;
  }

  static void check_memory(const MemoryRows<Real>& memory, std::size_t numbers) {
    if (!memory.before) return;
    const double sum = lane_sum(numbers, [&](std::size_t j) { return memory.before[j]; });
    GRADRACE_CHECK(sum == *memory.sum || std::isnan(sum),
                   "a memory is as the message before left it");
  }

  /// To rounding, that of a number and that of a sum in double.
  static void check_conserved(double missing, const Squares& squares, std::size_t numbers) {
    const auto n = static_cast<double>(numbers);
    const double rounding =
        std::numeric_limits<Real>::epsilon() + n * std::numeric_limits<double>::epsilon();
    const double most =
        rounding * std::sqrt(n) * (std::sqrt(squares.whole) + std::sqrt(squares.lacking));
    GRADRACE_CHECK(!(std::abs(missing) > most),
                   "what is sent and what is left out add up to what was put in");
  }

  /// In the definition's order.
  Squares pass(const Message& message, Stream words, std::span<Real> row) {
    in_order_.resize(packing_.parameters());
    before_.resize(packing_.parameters());
    packing_.unpack(row.data(), in_order_.data());
    const std::span<Real> sent = learnt(std::span<Real>(in_order_), statistics_);
    std::ranges::copy(sent, before_.begin());
    message.compressor->pass(sent, words);
    packing_.pack(in_order_.data(), row.data());
    const auto square = [](double x) { return x * x; };
    return {lane_sum(sent.size(), [&](std::size_t j) { return square(before_[j]); }),
            lane_sum(sent.size(), [&](std::size_t j) { return square(sent[j] - before_[j]); })};
  }

  Packing packing_;
  Statistics statistics_;
  Aligned<Real> in_order_, before_;  // [parameters], once a message was made
};

}  // namespace gradrace
