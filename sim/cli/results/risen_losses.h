#pragma once

#include <cstddef>
#include <string>

#include "sim/cli/results/run_result.h"
#include "sim/cli/scenario/point.h"

namespace gradrace {

/// Tells of finished runs on data whose loss ended a tenth or more above where it began.
class RisenLosses {
 public:
  void add(const Point& point, const RunResult& result);

  /// "the loss of 2 runs of 8 ended above where it began, that of async furthest (0.693 to 110); a
  /// smaller learning rate or ..."; empty where there are none.
  std::string text() const;

 private:
  std::size_t runs_ = 0, risen_ = 0;
  std::string label_;  // of the point whose run rose by the largest factor
  double first_ = 1, last_ = 0;
};

}  // namespace gradrace
