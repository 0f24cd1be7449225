#pragma once

#include <string>

#include "distributions/fit/trace_fit.h"

namespace gradrace {

/// What the command prints.
std::string fit_report(const TraceFit& fit);

/// fit.csv, fit.json, sample.csv and quantiles.csv: what analysis/plots/fit.py draws.
std::string fit_csv(const TraceFit& fit);
std::string fit_json(const TraceFit& fit);
std::string sample_csv(const TraceFit& fit);
std::string quantiles_csv(const TraceFit& fit);

}  // namespace gradrace
