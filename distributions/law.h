#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "distributions/order_statistics.h"
#include "sim/distribution.h"

namespace gradrace {

/// A law of the catalog.
class Law : public Distribution {
 public:
  /// A law whose survival function is not smooth on (0, infinity), or falls in several narrow
  /// steps, says where: the places x >= 0 at which it jumps or bends and those that frame its
  /// steps, ascending, each once.  Quadrature and root finding go from break to break.
  virtual std::vector<double> breaks() const { return {}; }

  /// Whether the survival function jumps at a break.
  bool has_atoms() const override {
    const auto jumps = [this](double x) {
      return survival(std::nextafter(x, -1.0)) - survival(x) > 1e-9;
    };
    return std::ranges::any_of(breaks(), jumps);
  }

  double expected_order_statistic(std::uint32_t k, std::uint32_t n) const override {
    return integrate_order_statistic(*this, k, n);
  }
  double sample_order_statistic(std::uint32_t k, std::uint32_t n, Stream& words) const override {
    return draw_order_statistic(*this, k, n, words);
  }
  double expected_capped_order_statistic(std::uint32_t k, std::uint32_t n,
                                         double cap) const override {
    return integrate_order_statistic(*this, k, n, cap);
  }
};

/// None if it is no law of the catalog.
inline std::vector<double> breaks_of(const Distribution& law) {
  const auto* broken = dynamic_cast<const Law*>(&law);
  return broken == nullptr ? std::vector<double>{} : broken->breaks();
}

}  // namespace gradrace
