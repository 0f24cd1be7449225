#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "distributions/fit/trace.h"
#include "sim/distribution.h"

namespace gradrace {

/// A law that is made of measured times, or has parts that are, says of which.
class Measured {
 public:
  virtual ~Measured() = default;
  virtual std::vector<std::shared_ptr<const Trace>> traces() const = 0;

  /// The number of draws of a learner after which its times come again; 0 where they are drawn.
  virtual std::size_t period(std::uint32_t /*learner*/) const { return 0; }
};

/// Null for a law that is given by its parameters.
inline const Measured* as_measured(const Distribution& law) {
  return dynamic_cast<const Measured*>(&law);
}

/// None of such a law.
inline std::vector<std::shared_ptr<const Trace>> traces_of(const Distribution& law) {
  const Measured* measured = as_measured(law);
  return measured ? measured->traces() : std::vector<std::shared_ptr<const Trace>>{};
}

}  // namespace gradrace
