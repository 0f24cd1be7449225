#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "models/cpu/aligned.h"
#include "models/optimiser/optimiser.h"
#include "models/optimiser/statistics.h"
#include "models/packing.h"
#include "sim/compressor.h"
#include "sim/tape.h"

namespace gradrace {

/// Makes messages of gradients, as Message says.
template <class Real>
class MessageMaker {
 public:
  MessageMaker(Packing packing, Statistics statistics)
      : packing_(std::move(packing)), statistics_(statistics), in_order_(packing_.parameters()) {}

  /// row [numbers of the packing]: the gradient, which is clipped by that factor and becomes the
  /// message.  before, after [numbers]: the memories, of which before may be null, for 0, and both
  /// where there is none.  `words` are the compressor's.
  void make(const Message& message, double factor, bool lost, Stream words, std::span<Real> row,
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
    if (lost && message.memory->takes_back) return;
    std::copy_n(after, g.size(), g.data());
    pass(message, words, row);
    for (std::size_t j = 0; j < g.size(); ++j) after[j] -= g[j];
  }

 private:
  /// In the definition's order.
  void pass(const Message& message, Stream words, std::span<Real> row) {
    packing_.unpack(row.data(), in_order_.data());
    message.compressor->pass(learnt(std::span<Real>(in_order_), statistics_), words);
    packing_.pack(in_order_.data(), row.data());
  }

  Packing packing_;
  Statistics statistics_;
  Aligned<Real> in_order_;  // [parameters]
};

}  // namespace gradrace
