#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "sim/reading/fields.h"

namespace gradrace {

/// Another way to name a law of two parameters: its mean and its coefficient of variation, standard
/// deviation / mean.
struct MeanAndCv {
  double mean = 1, cv = 1;
};

/// Visits the keys `mean` and `cv`, which may stand in place of the law's own two, and complains
/// unless just one of the two pairs is there; empty if it is the law's own.
std::optional<MeanAndCv> visit_mean_and_cv(Fields& fields,
                                           const std::array<std::string_view, 2>& own,
                                           double greatest_cv);

}  // namespace gradrace
