#include <iostream>

#include "sim/cli/commands/commands.h"
#include "sim/cli/commands/fit_report.h"
#include "sim/cli/results/output_folder.h"
#include "sim/cli/usage_error.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace {

TraceColumns columns_of(const Table& table, const FitOptions& options) {
  TraceColumns columns;
  if (!options.column || !options.learner) columns = guess_columns(table, !options.column);
  if (options.column) columns.time = *options.column, columns.time_why.clear();
  if (options.learner) columns.learner = *options.learner, columns.learner_why.clear();
  return columns;
}

TraceFit fit_file(const FitOptions& options) {
  try {
    const Table table = read_table(options.trace);
    return fit_trace(table, columns_of(table, options));
  } catch (const TraceError& error) {
    throw UsageError(std::string("fit: ") + error.what() +
                     (error.allowed.empty() ? "" : "; allowed: " + error.allowed));
  }
}

}  // namespace

int fit_command(const FitOptions& options) {
  const TraceFit fit = fit_file(options);
  OutputFolder folder(
      options.out.empty() ? "out/fit-" + options.trace.stem().string() : options.out.string(),
      options.force);
  folder.append("fit.csv", fit_csv.text(fit.fits.fits));
  folder.append("fit.json", fit_json(fit));
  folder.append("sample.csv", sample_csv.text(measured_times(fit)));
  folder.append("quantiles.csv", quantiles_csv.text(fitted_quantiles(fit)));
  folder.publish();
  std::cout << fit_report(fit) << "results: " << printable((folder.path() / "").string()) << '\n'
            << std::flush;
  return options.plot ? plot_command({folder.path()}) : 0;
}

}  // namespace gradrace
