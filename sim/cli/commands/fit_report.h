#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "distributions/fit/trace_fit.h"
#include "sim/cli/commands/fit_agreement.h"
#include "sim/cli/results/csv_file.h"

namespace gradrace {

/// What the command prints.  `sample`: sample.csv of the output folder, which a scenario replays
/// where it cannot read the trace itself.
std::string fit_report(const TraceFit& fit, const FitAgreement& agreement,
                       const std::filesystem::path& sample);

/// fit.json.  files: the hashes of the others.
std::string fit_json(const TraceFit& fit, const FitAgreement& agreement,
                     const std::filesystem::path& sample,
                     const std::map<std::string, std::string>& files);

/// What analysis/plots/fit.py draws besides.
struct MeasuredTime {
  std::string learner;
  std::size_t draw;
  double time, evened;
  bool cancelled, outlier;
};
struct FittedQuantile {
  std::string family;
  double p, quantile;
};
std::vector<MeasuredTime> measured_times(const TraceFit& fit);
std::vector<FittedQuantile> fitted_quantiles(const TraceFit& fit);

extern const CsvFile<Fit> fit_csv;
extern const CsvFile<MeasuredTime> sample_csv;
extern const CsvFile<FittedQuantile> quantiles_csv;

}  // namespace gradrace
