#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "distributions/catalog.h"
#include "distributions/fit/observations.h"

namespace gradrace {

/// A family of the catalog fitted to times.
struct Fit {
  std::string family;  // "lognormal"
  std::string json;    // the law as a scenario has it, ten digits or more
  std::string method;
  double log_likelihood;  // of independent draws; NaN where the law has no density
  double aic;             // 2 (number of parameters) - 2 log-likelihood, or NaN
  double kolmogorov;      // greatest distance of the distribution functions
  int kolmogorov_rank;    // 1: the least of all
  DistributionProduct law;
};

/// A family that was left out.
struct Unfitted {
  std::string family, why;
};

struct Fits {
  std::vector<Fit> fits;  // the lowest AIC first, those without one at the end by distance
  std::vector<Unfitted> left_out;
};

/// Fits every family of the catalog that it makes sense for to times > 0, of which at least two
/// differ.  Source: Akaike, IEEE Transactions on Automatic Control 19(6), 1974; the estimators'
/// equations stand beside them.
Fits fit_families(std::span<const double> times);

/// The same where times may be cancelled or the slowest of several: at least two whole ones differ,
/// and a law is that of one minibatch; its distance is that of the slowest of so many.
Fits fit_families(const Observations& observed);

/// One family so; nothing where it is left out.
std::optional<Fit> fit_family(const std::string& family, const Observations& observed);

/// The same of times that may be rounded: between successive different times, where rounding
/// changes the sample's distribution function least, and from the law anywhere within half a step.
double distance_of_rounded(const Observations& observed, const Distribution& law);

/// The step to which times are rounded: the smallest gap between times that differ, or 0 where that
/// is more than a third of their standard deviation, as where they have few values.
double rounding_of(std::vector<double> times);

/// The Kolmogorov distance that 95 % of samples of so many independent times stay below, were the
/// law theirs and not fitted to them (which makes it less): 1.36 / sqrt(n).
double distance_by_chance(double n);

/// Digits that tell numbers apart which differ by that share of their size: so many, and more from
/// a hundredth on.
int digits_for(double variation, int digits);

/// The greatest distance between the distribution function of the ascending sample and the law's.
double kolmogorov_distance(std::span<const double> sorted, const Distribution& law);

}  // namespace gradrace
