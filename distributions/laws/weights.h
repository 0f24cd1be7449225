#pragma once

#include <cstddef>
#include <vector>

#include "sim/random.h"

namespace gradrace {

/// Probabilities of a choice among a few parts: numbers >= 0 divided by their sum, which is > 0.
class Weights {
 public:
  Weights() = default;
  explicit Weights(std::vector<double> weights);

  std::size_t size() const { return weights_.size(); }
  double operator[](std::size_t i) const { return weights_[i]; }

  /// The number of a part, drawn.
  std::size_t draw(Stream& words) const;

 private:
  std::vector<double> weights_;
  std::vector<double> cumulative_;
};

}  // namespace gradrace
