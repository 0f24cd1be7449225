#pragma once

#include "sim/learning_rate.h"

namespace gradrace {

/// What a schedule measures its work in: epochs, gradients applied, or fractions of the work that
/// `stop` allows.
class WorkUnit {
 public:
  /// Reads the key `unit` of the open object; complains where that cannot be measured.
  WorkUnit(Fields& fields, const WorkBudget& budget, std::string_view meaning);

  /// The work done, in the unit.
  double count(const Work& work) const {
    return (by_gradients_ ? static_cast<double>(work.gradients) : work.epochs) / size_;
  }

 private:
  bool by_gradients_ = false;  // else by epochs
  double size_ = 1;            // of the unit, in gradients or epochs
};

}  // namespace gradrace
