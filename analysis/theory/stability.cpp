#include "analysis/theory/stability.h"

#include <cmath>
#include <numbers>

namespace gradrace {

double largest_stable_step(double staleness, double momentum) {
  const double slow = 1 - momentum;
  const double fast = 1 + momentum;
  const auto turn_left = [&](double theta) {
    const double real = fast * std::sin(theta / 2), imaginary = slow * std::cos(theta / 2);
    return std::atan2(imaginary, real) - staleness * theta;
  };
  double low = 0, high = std::numbers::pi;
  if (staleness > 0) {
    for (int halving = 0; halving < 100; ++halving) {
      const double middle = (low + high) / 2;
      (turn_left(middle) > 0 ? low : high) = middle;
    }
  }
  const double sine = std::sin(high / 2);
  return 2 * sine * std::hypot(fast * sine, slow * std::cos(high / 2));
}

}  // namespace gradrace
