#pragma once

#include <string_view>

#include "distributions/fit/estimators.h"
#include "distributions/fit/observations.h"

namespace gradrace {

/// Fits a family to times of which some are cancelled or that are each the slowest of P.  With
/// density f and distribution function F of a minibatch, a whole time x counts
/// log(P f(x) F(x)^(P-1)), one that was cancelled at x counts log(1 - F(x)^P); the parameters that
/// make the sum greatest are searched for by Nelder and Mead's method.  Laws without a density are
/// fitted by moments to the slowest of P, and refused where times are cancelled.
/// At least two whole times must differ.
/// Source: Cox and Oakes, Analysis of Survival Data, 1984, section 3.2 (censored times).
FamilyEstimate estimate_by_likelihood(std::string_view family, const Observations& observed);

}  // namespace gradrace
