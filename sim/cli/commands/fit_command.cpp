#include <iostream>

#include "sim/cli/commands/commands.h"
#include "sim/cli/commands/fit_report.h"
#include "sim/cli/results/output_folder.h"
#include "sim/cli/usage_error.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace po = boost::program_options;

static TraceFit fit_file(const std::filesystem::path& trace, const Values& values) {
  const bool time_given = values.count("column") != 0, learner_given = values.count("learner") != 0;
  try {
    const Table table = read_table(trace);
    TraceColumns columns;
    if (!time_given || !learner_given) columns = guess_columns(table, !time_given);
    if (time_given) columns.time = values["column"].as<std::string>(), columns.time_why.clear();
    if (learner_given) {
      columns.learner = values["learner"].as<std::string>();  // empty: all rows are one learner's
      columns.learner_why.clear();
    }
    return fit_trace(table, columns);
  } catch (const TraceError& error) {
    throw UsageError(std::string("fit: ") + error.what() +
                     (error.allowed.empty() ? "" : "; allowed: " + error.allowed));
  }
}

static int fit(const Words& words) {
  Syntax syntax{.positional = "trace"};
  syntax.options.add_options()                                                             //
      ("column", po::value<std::string>()->value_name("NAME"),                             //
       "column of the times (default: guessed, and said)")                                 //
      ("learner", po::value<std::string>()->value_name("NAME"),                            //
       "column that says whose time it is (default: guessed; '': all are one learner's)")  //
      ("out", po::value<std::string>()->value_name("DIR"),                                 //
       "output folder (default out/fit-<trace>)")                                          //
      ("force", "overwrite results that are there")                                        //
      ("plot", "draw the plots afterwards");
  const auto values = parse(fit_command, words, syntax);
  if (!values) return 0;
  const auto traces = paths_of("fit", *values, "trace");
  if (traces.size() != 1) throw UsageError("fit: takes one CSV file");
  const auto out = path_of("fit", *values, "out");
  const TraceFit fit = fit_file(traces.front(), *values);
  OutputFolder folder(out.empty() ? "out/fit-" + traces.front().stem().string() : out.string(),
                      values->count("force") != 0);
  folder.append("fit.csv", fit_csv.text(fit.fits.fits));
  folder.append("fit.json", fit_json(fit));
  folder.append("sample.csv", sample_csv.text(measured_times(fit)));
  folder.append("quantiles.csv", quantiles_csv.text(fitted_quantiles(fit)));
  folder.publish();
  std::cout << fit_report(fit) << "results: " << printable((folder.path() / "").string()) << '\n'
            << std::flush;
  return values->count("plot") != 0 ? plot_folders({folder.path()}) : 0;
}

extern const Command fit_command{
    "fit", "fits runtime distributions to measured times, and says whether they persist",
    "  gradrace fit TRACE.csv [options]\n\n"
    "The file has a line of column names, then a row for each minibatch.  Prints every family\n"
    "ranked by AIC, whether learners differ for good or by turns, and a cluster to paste into a\n"
    "scenario.\n\n"
    "Examples:\n"
    "  gradrace fit scenarios/times.csv --plot\n"
    "  gradrace fit trace.csv --column seconds --learner rank --out out/trace\n",
    fit};

}  // namespace gradrace
