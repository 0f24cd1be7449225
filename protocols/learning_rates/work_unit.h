#pragma once

#include "sim/learning_rate.h"

namespace gradrace {

/// What a schedule measures its work in: epochs, gradients or samples applied, or fractions of the
/// work that `stop` allows.  Never updates, of which protocols need more or fewer for equal work.
class WorkUnit {
 public:
  /// Reads the key `unit` of the open object; complains where that cannot be measured.
  WorkUnit(Fields& fields, const WorkBudget& budget, std::string_view meaning);

  /// Of the work that `stop` allows, all of which is 1.
  bool is_fraction() const { return is_fraction_; }

  /// The work done, in the unit.
  double count(const Work& work) const {
    switch (counted_) {
      case Counted::epochs:
        return work.epochs / size_;
      case Counted::gradients:
        return static_cast<double>(work.gradients) / size_;
      case Counted::samples:
        break;
    }
    return static_cast<double>(work.samples) / size_;
  }

 private:
  enum class Counted { epochs, gradients, samples };
  Counted counted_ = Counted::epochs;
  bool is_fraction_ = false;
  double size_ = 1;  // of the unit, in what is counted
};

}  // namespace gradrace
