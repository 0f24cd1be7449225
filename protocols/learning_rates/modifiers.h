#pragma once

#include "sim/learning_rate.h"

namespace gradrace {

/// The rate multiplied as the keys `scale` and `warm_up` of the open object say; every kind has
/// them.  Null after an error.
LearningRateProduct modify(Fields& fields, const WorkBudget& budget, LearningRateProduct rate);

/// The `read` of a kind's entry: what the kind reads, then its modifiers.
template <LearningRateProduct (*read)(Fields&, const WorkBudget&)>
LearningRateProduct modified(Fields& fields, const WorkBudget& budget) {
  return modify(fields, budget, read(fields, budget));
}

}  // namespace gradrace
