#pragma once

#include <vector>

#include "sim/distribution.h"

namespace gradrace {

/// A law whose survival function is not smooth everywhere, or falls in several narrow steps, says
/// where: the places x >= 0 at which it jumps or bends and those that frame its steps, ascending,
/// each once.  Quadrature and root finding go from break to break.
class HasBreaks {
 public:
  virtual ~HasBreaks() = default;
  virtual std::vector<double> breaks() const = 0;
};

/// Those of the law; none if it is smooth on (0, infinity).
inline std::vector<double> breaks_of(const Distribution& law) {
  const auto* broken = dynamic_cast<const HasBreaks*>(&law);
  return broken == nullptr ? std::vector<double>{} : broken->breaks();
}

}  // namespace gradrace
