#pragma once

#include <cstdint>
#include <optional>

#include "distributions/catalog.h"

namespace gradrace {

/// Rare minibatches that take another time: each with a probability, which is fixed or drawn anew
/// for each draw index and then shared by all learners, so that outliers come in crowds.
struct Outliers {
  std::optional<double> probability;    // else by its law
  DistributionProduct probability_law;  // draws above 1 count as 1
  DistributionProduct runtime;
  std::optional<double> most;  // no outlier takes longer
};

void visit_outliers(Fields& fields, Outliers& outliers);

/// The time of the minibatch that `name` names (its purpose apart), if it is an outlier.
std::optional<double> draw_outlier(const Outliers& outliers, StreamName name);

}  // namespace gradrace
