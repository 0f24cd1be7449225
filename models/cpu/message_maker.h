#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "models/cpu/aligned.h"
#include "models/optimiser/optimiser.h"
#include "models/optimiser/statistics.h"
#include "models/packing.h"
#include "sim/compressor.h"
#include "sim/lane_sum.h"
#include "sim/tape.h"

namespace gradrace {

/// Makes messages of gradients, as Message says.
template <class Real>
class MessageMaker {
 public:
  MessageMaker(Packing packing, Statistics statistics)
      : packing_(std::move(packing)),
        statistics_(statistics),
        in_order_(packing_.parameters()),
        before_(packing_.parameters()) {}

  /// row [numbers of the packing]: the gradient, which is clipped by that factor and becomes the
  /// message.  before, after [numbers]: the memories, of which before may be null, for 0, and both
  /// where there is none.  `words` are the compressor's.  What a message says is so far from what
  /// was to be sent: ||C(p) - p||^2 / ||p||^2, NaN of one that is not made.
  double make(const Message& message, double factor, bool lost, Stream words, std::span<Real> row,
              const Real* before, Real* after) {
    const std::span<Real> g = learnt(row, statistics_);
    const auto weight = static_cast<Real>(factor);
    if (!after) {
      if (weight != 1)
        for (Real& x : g) x *= weight;
      return pass(message, words, row);
    }
    const auto decay = static_cast<Real>(message.memory->decay);
    for (std::size_t j = 0; j < g.size(); ++j)
      after[j] = before ? weight * g[j] + decay * before[j] : weight * g[j];
    std::fill(after + g.size(), after + row.size(), Real{0});
    if (lost && message.memory->takes_back) return std::numeric_limits<double>::quiet_NaN();
    std::copy_n(after, g.size(), g.data());
    const double error = pass(message, words, row);
    for (std::size_t j = 0; j < g.size(); ++j) after[j] -= g[j];
    return error;
  }

 private:
  /// In the definition's order.
  double pass(const Message& message, Stream words, std::span<Real> row) {
    packing_.unpack(row.data(), in_order_.data());
    const std::span<Real> sent = learnt(std::span<Real>(in_order_), statistics_);
    std::ranges::copy(sent, before_.begin());
    message.compressor->pass(sent, words);
    packing_.pack(in_order_.data(), row.data());
    const auto square = [](double x) { return x * x; };
    const double error =
        lane_sum(sent.size(), [&](std::size_t j) { return square(sent[j] - before_[j]); });
    return error / lane_sum(sent.size(), [&](std::size_t j) { return square(before_[j]); });
  }

  Packing packing_;
  Statistics statistics_;
  Aligned<Real> in_order_, before_;  // [parameters]
};

}  // namespace gradrace
