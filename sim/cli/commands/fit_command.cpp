#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>

#include "sim/cli/commands/commands.h"
#include "sim/cli/commands/fit_report.h"
#include "sim/cli/output/disk.h"
#include "sim/cli/output/output_folder.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/usage_error.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"
#include "sim/reading/rest_of.h"

namespace gradrace {

namespace po = boost::program_options;

static double scale_of(const Values& values) {
  const double scale = values["scale"].as<double>();
  if (scale > 0 && std::isfinite(scale)) return scale;
  throw UsageError("fit: --scale must be a finite number > 0, got " + short_number(scale, 17));
}

static TraceFit fit_files(const std::vector<std::filesystem::path>& traces, const Values& values) {
  const auto text = [&](const char* name) {
    return values.count(name) != 0 ? values[name].as<std::string>() : "";
  };
  TraceRequest request{
      words_of(values, "column"), {}, text("censored"), text("step"), scale_of(values)};
  if (values.count("learner") != 0) request.learner = text("learner");
  try {
    const std::uint32_t workers = count_of("fit", values, "slowest-of", 1);
    constexpr std::uint32_t most = 1 << 24;  // that a scenario's cluster has
    if (workers > most)
      throw UsageError("fit: --slowest-of must be 1 to " + std::to_string(most) + ", got " +
                       std::to_string(workers));
    return fit_trace(read_trace(traces, request), workers);
  } catch (const TraceError& error) {
    throw UsageError(std::string("fit: ") + error.what() +
                     (error.allowed.empty() ? "" : "; allowed: " + error.allowed));
  }
}

static Syntax fit_syntax() {
  Syntax syntax{.positional = "trace"};
  syntax.options.add_options()                                                                  //
      ("column", po::value<Words>()->composing()->value_name("NAME"),                           //
       "column of the times (default: the only one that says time, ms, seconds or duration); "  //
       "several, also by a pattern such as 'w*': one a learner")                                //
      ("learner", po::value<std::string>()->value_name("NAME"),                                 //
       "column that says whose time it is (default: guessed; '': all are one learner's)")       //
      ("step", po::value<std::string>()->value_name("NAME"),                                    //
       "event that is one minibatch, of a file of trace events (default ProfilerStep); "        //
       "tensor, of a Horovod timeline")                                                         //
      ("scale", po::value<double>()->value_name("S")->default_value(1, "1"),                    //
       "factor on every time: 1e-3 makes seconds of milliseconds")                              //
      ("censored", po::value<std::string>()->value_name("NAME"),                                //
       "column that is 1 where the minibatch was cancelled after that time, else 0")            //
      ("slowest-of", po::value<int>()->value_name("P"),                                         //
       "each time is the slowest of P minibatches: the step of a synchronous job")              //
      ("out", po::value<std::string>()->value_name("DIR"),                                      //
       "output folder (default out/fit-<trace>)")                                               //
      ("force", "overwrite results that are there")                                             //
      ("plot", "draw the plots afterwards");
  return syntax;
}

/// {file: its text}, without the record.
static std::map<std::string, std::string> tables_of(const TraceFit& fit) {
  return {{"fit.csv", fit_csv.text(fit.fits.fits)},
          {"sample.csv", sample_csv.text(measured_times(fit))},
          {"quantiles.csv", quantiles_csv.text(fitted_quantiles(fit))}};
}

/// Whether the folder has all results of this very fit.
static bool holds(const std::filesystem::path& place, const TraceFit& fit,
                  const std::filesystem::path& sample) {
  const PublishedFiles there(place);
  if (there.record() != fit_record || !there.are_whole()) return false;
  auto files = tables_of(fit);
  files[fit_record] = fit_json(fit, sample, there.named());
  return std::ranges::all_of(files, [&](const auto& entry) {
    std::ifstream file = opened_file(place / entry.first);
    return file.is_open() && rest_of(file) == entry.second;
  });
}

static void write(const TraceFit& fit, const std::filesystem::path& sample,
                  const std::filesystem::path& place, bool overwrite) {
  OutputFolder folder(place.string(), fit_record, overwrite);
  for (const auto& [file, text] : tables_of(fit)) folder.append(file, text);
  folder.append(fit_record, fit_json(fit, sample, folder.finish()));
  folder.publish();
}

static int fit(const Words& words) {
  Syntax syntax = fit_syntax();
  const auto values = parse(fit_command, words, syntax);
  if (!values) return 0;
  const auto traces = paths_of("fit", *values, "trace");
  const auto out = path_of("fit", *values, "out");
  const TraceFit fit = fit_files(traces, *values);
  const std::filesystem::path place =
      out.empty() ? "out/fit-" + traces.front().stem().string() : out.string();
  const auto sample = std::filesystem::absolute(place / "sample.csv");
  const bool overwrite = values->count("force") != 0;
  if (overwrite || !holds(place, fit, sample)) {
    note_if_mixed(place);
    write(fit, sample, place, overwrite);
  }
  std::cout << fit_report(fit, sample) << "results: " << printable((place / "").string()) << '\n'
            << std::flush;
  return values->count("plot") != 0 ? plot_folders({place}) : 0;
}

extern const Command fit_command{
    "fit", "fits runtime distributions to measured times, and says whether they persist",
    "  gradrace fit TRACE.csv [options]\n"
    "  gradrace fit EVENTS.json... [options]\n\n"
    "A CSV file has a line of column names, then a row for each minibatch; or a column for each\n"
    "learner.  A JSON file has events of PyTorch's profiler, of a Horovod timeline or of any "
    "other\n"
    "tool that writes Chrome trace events; their times are read in seconds, and several files are "
    "a\n"
    "learner's each.  Prints every family ranked by AIC, whether learners differ for good or by\n"
    "turns, and a cluster to paste into a scenario.  Warns where times look as if they were cut "
    "off\n"
    "by cancellation or those of a whole job's steps: without --censored or --slowest-of the law\n"
    "that comes out is then not that of a minibatch.\n\n"
    "Examples:\n"
    "  gradrace fit scenarios/times.csv --plot\n"
    "  gradrace fit trace.csv --column seconds --learner rank --out out/trace\n"
    "  gradrace fit log.csv --column batch_ms --scale 1e-3             # in seconds\n"
    "  gradrace fit wide.csv --column 'worker*'                        # a column a worker\n"
    "  gradrace fit k_sync.csv --column time --censored cancelled      # 1: was cancelled then\n"
    "  gradrace fit steps.csv --column step_time --slowest-of 8        # a job of 8 workers\n"
    "  gradrace fit rank0.pt.trace.json rank1.pt.trace.json            # PyTorch's profiler\n"
    "  gradrace fit trace.json --step train_step                       # Chrome trace events\n"
    "  gradrace fit timeline.json                                      # Horovod\n"
    "  gradrace fit timeline.json --step grads/dense/kernel            # one of its tensors\n",
    fit};

}  // namespace gradrace
