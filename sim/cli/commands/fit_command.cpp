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
#include "sim/message_text.h"
#include "sim/reading/characters.h"
#include "sim/reading/rest_of.h"

namespace gradrace {

namespace po = boost::program_options;

static double positive(const Arguments& call, const std::string& option) {
  const double number = call.number(option);
  if (number > 0 && std::isfinite(number)) return number;
  call.refuse("--" + option + " must be a finite number > 0, got " + short_number(number, 17));
}

static TraceRequest request_of(const Arguments& call) {
  TraceRequest request;
  request.columns = call.words("column");
  if (call.has("learner")) request.learners = call.words("learner");
  request.cancelled = call.text("censored");
  request.step = call.text("step");
  request.scale = positive(call, "scale");
  for (const auto& words : call.words("where")) request.where.push_back(row_pattern(words));
  request.sum_by = call.words("sum-by");
  request.begin = call.text("begin");
  request.end = call.text("end");
  request.pattern = call.text("pattern");
  request.differences = call.has("differences");
  request.durations = call.has("durations");
  if (call.has("rate")) request.items = positive(call, "rate");
  request.skip = call.count("skip", 0);
  return request;
}

static TraceFit fit_files(const std::vector<std::filesystem::path>& traces, const Arguments& call) {
  try {
    return fit_trace(read_trace(traces, request_of(call)), call.count("slowest-of", 1));
  } catch (const TraceError& error) {
    call.refuse(error.what() + (error.allowed.empty() ? "" : "; allowed: " + error.allowed));
  }
}

static Syntax fit_syntax() {
  Syntax syntax{.positional = "trace"};
  syntax.options.add_options()                                                                  //
      ("column", po::value<Words>()->composing()->value_name("NAME"),                           //
       "column of the times (default: the only one that says time, ms, seconds or duration); "  //
       "several, also by a pattern such as 'w*' or 'w[0-9]': one a learner")                    //
      ("learner", po::value<Words>()->composing()->value_name("NAME"),                          //
       "column that says whose time it is, several: together (default: guessed; '': all are "   //
       "one learner's)")                                                                        //
      ("where", po::value<Words>()->composing()->value_name("COLUMN=PATTERN"),                  //
       "rows that are minibatches (* is any text; != for the others); of events: name, "        //
       "category, process, thread")                                                             //
      ("sum-by", po::value<Words>()->composing()->value_name("COLUMN"),                         //
       "a minibatch is all rows of a learner that agree in it, such as step")                   //
      ("begin", po::value<std::string>()->value_name("NAME"),                                   //
       "column of the stamp at which a minibatch begins, with --end")                           //
      ("end", po::value<std::string>()->value_name("NAME"), "column of the stamp of its end")   //
      ("differences", "the column is a running total, or has time stamps: take differences")    //
      ("durations", "the times are durations, although they only rise")                         //
      ("rate", po::value<std::string>()->value_name("ITEMS"),                                   //
       "the column is a rate; a minibatch has so many items")                                   //
      ("skip", po::value<std::string>()->value_name("N"),                                       //
       "leaves out the first N times of each learner, such as those that compile")              //
      ("pattern", po::value<std::string>()->value_name("REGEX"),                                //
       "of a log: the time is what the parentheses match in a line; (?<rank>...) names a "      //
       "column")                                                                                //
      ("step", po::value<std::string>()->value_name("NAME"),                                    //
       "event that is one minibatch, of a file of trace events (default ProfilerStep); "        //
       "tensor, of a Horovod timeline")                                                         //
      ("scale", po::value<std::string>()->value_name("S")->default_value("1"),                  //
       "factor on every time: 1e-3 makes seconds of milliseconds")                              //
      ("censored", po::value<std::string>()->value_name("NAME"),                                //
       "column that is 1 where the minibatch was cancelled after that time, else 0")            //
      ("slowest-of", po::value<std::string>()->value_name("P"),                                 //
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
                  const FitAgreement& agreement, const std::filesystem::path& sample) {
  const PublishedFiles there(place);
  if (there.record() != fit_record || !there.are_whole()) return false;
  auto files = tables_of(fit);
  files[fit_record] = fit_json(fit, agreement, sample, there.named());
  return std::ranges::all_of(files, [&](const auto& entry) {
    std::ifstream file = opened_file(place / entry.first);
    return file.is_open() && rest_of(file) == entry.second;
  });
}

static void write(const TraceFit& fit, const FitAgreement& agreement,
                  const std::filesystem::path& sample, const std::filesystem::path& place,
                  bool overwrite) {
  const auto tables = tables_of(fit);
  Files files{.record = fit_record, .names = {}};
  for (const auto& [file, text] : tables) files.names.insert(file);
  OutputFolder folder(place, std::move(files), overwrite);
  refuse_runs(place);
  for (const auto& [file, text] : tables) folder.append(file, text);
  folder.append(fit_record, fit_json(fit, agreement, sample, folder.finish()));
  folder.publish();
}

static int fit(const Words& words) {
  Syntax syntax = fit_syntax();
  const auto call = parse(fit_command, words, syntax);
  if (!call) return 0;
  const auto traces = call->paths("trace");
  const auto out = call->path("out");
  const TraceFit fit = fit_files(traces, *call);
  const FitAgreement agreement = agreement_of(fit);
  const std::filesystem::path place =
      out.empty() ? "out/fit-" + traces.front().stem().string() : out.string();
  const auto sample = std::filesystem::absolute(place / "sample.csv");
  const bool overwrite = call->has("force");
  if (overwrite || !holds(place, fit, agreement, sample)) {
    note_if_mixed(place);
    write(fit, agreement, sample, place, overwrite);
  }
  std::cout << fit_report(fit, agreement, sample) << "results: " << printable((place / "").string())
            << '\n'
            << std::flush;
  return call->has("plot") ? plot_folders({place}) : 0;
}

extern const Command fit_command{
    "fit", "fits runtime distributions to measured times, and says whether they persist",
    "  gradrace fit TRACE.csv [options]\n"
    "  gradrace fit EVENTS.json... [options]\n\n"
    "A table (commas, semicolons, tabs, |, blanks; .gz too) has a line of column names, then a\n"
    "row for each minibatch; or a column for each learner.  JSON lines and, by --pattern, logs "
    "are\n"
    "tables too.\n"
    "A JSON file has events of PyTorch's profiler, of a Horovod timeline or of any other tool "
    "that\n"
    "writes Chrome trace events; their times are read in seconds.  Several files are a learner's\n"
    "each, unless they say whose they are.  Where rows are of several kinds, share a step, or are\n"
    "running totals or stamps, nothing is fitted: what there is is listed, with the option that\n"
    "says which are minibatches.\n"
    "Prints every family ranked by AIC, whether learners differ for good or by turns, a cluster "
    "to\n"
    "paste into a scenario, and how far it is from what was measured.  Warns where times look as "
    "if\n"
    "they were cut off by cancellation or those of a whole job's steps: without --censored or\n"
    "--slowest-of the law that comes out is then not that of a minibatch.\n\n"
    "Examples:\n"
    "  gradrace fit scenarios/times.csv --plot\n"
    "  gradrace fit trace.csv --column seconds --learner rank --out out/trace\n"
    "  gradrace fit log.csv --column batch_ms --scale 1e-3             # in seconds\n"
    "  gradrace fit wide.csv --column 'worker*'                        # a column a worker\n"
    "  gradrace fit k_sync.csv --column time --censored cancelled      # 1: was cancelled then\n"
    "  gradrace fit steps.csv --column step_time --slowest-of 8        # a job of 8 workers\n"
    "  gradrace fit ops.csv --sum-by step                              # parts of each step\n"
    "  gradrace fit nvtx.csv --column 'Duration (ns)' --where 'Name=:iteration*'\n"
    "  gradrace fit jobs.csv --begin start_time --end end_time         # stamps, also ISO 8601\n"
    "  gradrace fit wandb.csv --column _runtime --differences --skip 1 # a running total\n"
    "  gradrace fit train.log --pattern 'rank (?<rank>\\d+).*time: ([0-9.]+)'\n"
    "  gradrace fit rank0.pt.trace.json rank1.pt.trace.json            # PyTorch's profiler\n"
    "  gradrace fit trace.json --step train_step                       # Chrome trace events\n"
    "  gradrace fit trace.json --where thread=Steps                    # JAX: a device's steps\n"
    "  gradrace fit timeline.json                                      # Horovod\n"
    "  gradrace fit timeline.json --step grads/dense/kernel            # one of its tensors\n",
    fit};

}  // namespace gradrace
