#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <string_view>

#include "models/device_choice.h"
#include "models/gpu/cuda/cuda_device.h"
#include "sim/cli/commands/commands.h"
#include "sim/cli/commands/dry_run.h"
#include "sim/cli/commands/run_call.h"
#include "sim/cli/commands/run_cost.h"
#include "sim/cli/commands/scenario_runs.h"
#include "sim/cli/output/locks.h"
#include "sim/cli/python.h"
#include "sim/cli/results/duration.h"
#include "sim/cli/results/pages.h"
#include "sim/cli/results/table.h"
#include "sim/cli/scenario/auto_device.h"
#include "sim/cli/standard_streams.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace po = boost::program_options;

namespace {

constexpr int interrupted_status = 130;
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

constexpr std::array signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU};

/// One that comes a second after the first ends the program at once.  What comes sooner is the
/// first again: a shell or a batch system sends it to the process and to its group.
extern "C" void on_signal(int signal) {
  static std::atomic<std::time_t> first = 0;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  std::time_t none = 0;
  if (!first.compare_exchange_strong(none, now.tv_sec)) {
    if (now.tv_sec < first + 2) return;
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  interrupted = true;
  constexpr std::string_view told =
      "\ninterrupted: ending; runs under way are lost, finished ones kept; again, two seconds "
      "later, "
      "ends at once\n";
  const int error = errno;  // of what was interrupted
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, told.data(), told.size());
  errno = error;
}

/// While it lives, signals that end a program end what is under way instead, but for those that the
/// caller has it ignore, as nohup does; and a reader that closes a pipe ends nothing.
class Signals {
 public:
  Signals() {
    for (std::size_t i = 0; i < signals.size(); ++i) {
      before_[i] = std::signal(signals[i], on_signal);
      if (before_[i] == SIG_IGN) std::signal(signals[i], SIG_IGN);
    }
    before_pipe_ = std::signal(SIGPIPE, SIG_IGN);
  }
  ~Signals() {
    std::signal(SIGPIPE, before_pipe_);
    for (std::size_t i = 0; i < signals.size(); ++i) std::signal(signals[i], before_[i]);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  std::array<void (*)(int), signals.size()> before_{};
  void (*before_pipe_)(int) = nullptr;
};

/// A scenario of the call, and the folder that its runs go to.
struct Job {
  /// Its plan alone.
  Job(const Scenario& of, const RunOptions& options)
      : scenario(of),
        jobs(jobs_for(of, options)),
        plan(plan_of(of, std::min<std::size_t>(jobs, of.runs()),
                     options.tells() ? tell_steps(of.first().name) : TellStep{})) {}

  void open_folder(const RunOptions& options) {
    const Scenario& of = scenario;
    folder = std::make_unique<RunFolder>(folder_of(of, options), of, options.shard,
                                         runs_of_call(of, plan, options), options.begin);
    folder->files().compress(options.compression);
    if (!of.data_before.empty() && of.data_before != folder->header().data_hashes)
      tell_note(of.file.string() + ": the data are not those that its results were made of");
    const std::filesystem::path there = std::filesystem::absolute(of.file).parent_path();
    if (options.out.empty() && of.file.filename() == "manifest.json" &&
        std::filesystem::weakly_canonical(there) !=
            std::filesystem::weakly_canonical(folder->path()))
      tell_note("results go to " + (folder->path() / "").string() + "; --out " +
                of.file.parent_path().string() + " goes on with those of the manifest");
    if (options.shard) return;
    refuse_others(*folder, plan.theories);
    note_if_mixed(folder->path());
  }

  /// [point]: how many of its runs are missing.
  std::vector<std::size_t> missing_of_points() const {
    std::vector<std::size_t> counts(scenario.points.size());
    for (const std::size_t run : missing) ++counts[scenario.point_number(run)];
    return counts;
  }

  std::vector<double> missing_work() const {
    std::vector<double> work;
    for (const std::size_t run : missing) work.push_back(plan.work[scenario.point_number(run)]);
    return work;
  }

  const Scenario& scenario;
  unsigned jobs;
  RunPlan plan;
  std::unique_ptr<RunFolder> folder;
  std::vector<std::size_t> missing;
  std::unique_ptr<ScenarioRuns> runs;
  bool was_left = false;  // by a signal, in the middle of a step: its threads go on
};

/// A line, or as many as fit the terminal.
void print_line(const std::string& line, std::size_t indent) {
  std::cout << wrapped(line, 0, indent, terminal_width().value_or(line.size()));
}

void print_notes(const std::vector<std::string>& notes) {
  for (const auto& note : notes) print_line("note: " + printable(note), 6);
}

std::string place_text(const RunFolder& folder) {
  return "results: " + printable((folder.path() / "").string()) + '\n';
}

/// What the page that gradrace report makes says first, and the numbers of the points that this
/// names.
struct Answer {
  std::vector<std::size_t> named;
  std::string text;  // none of Parquet
};

/// As analysis says it within a second or two of processor time; else, or where the machine is busy
/// for long, how to make that page.
Answer answer_of(const RunFolder& folder) {
  constexpr double longest_wait = 10;                                   // seconds
  if (!std::filesystem::exists(folder.path() / "runs.csv")) return {};  // Parquet
  const std::string place = folder.path().string();
  const auto told = ask_python("report/sentence.py", {place}, longest_wait);
  if (!told || told->empty()) return {{}, "gradrace report " + place + " says which is best"};
  const std::size_t end = std::min(told->find('\n'), told->size() - 1);
  std::istringstream numbers(told->substr(0, end));
  return {{std::istream_iterator<std::size_t>(numbers), {}}, told->substr(end + 1)};
}

void print_answer(const Answer& answer) {
  std::istringstream lines(answer.text);
  for (std::string line; std::getline(lines, line);) print_line(printable(line), 2);
}

/// After a device's name.
std::string reason_text(const Scenario& scenario) {
  const std::string why = why_device(scenario, no_cuda_device);
  return why.empty() ? "" : "; " + why;
}

/// How many of the runs are there, of a shard too, which publishes nothing.
void report_shard(const Job& job, const Shard& shard, const RunFailures& failures) {
  const std::size_t there = job.folder->present();
  if (job.folder->size() == 0) {
    std::cout << "shard " << shard.text() << ": has no run; the sweep has "
              << count_text(job.scenario.runs(), "run") << " in all\n";
    return;
  }
  std::cout << "shard " << shard.text() << ": " << there << " of "
            << count_text(job.folder->size(), "run") << (there == 1 ? " is there" : " are there")
            << (failures.empty() ? "" : ", " + std::to_string(failures.size()) + " failed")
            << (there < job.folder->size() ? "; the same call goes on\n"
                                           : "; gradrace collect puts the shards together\n")
            << "folder: " << printable((job.folder->path() / "").string()) << '\n';
  if (!job.scenario.device_reason.empty())
    print_line("device: " + device_of(job.scenario) + "; " + job.scenario.device_reason, 8);
}

/// Of work (run_work) that no machine does more in a second.
double fastest(const Point& point, unsigned jobs) {
  constexpr double numbers = 2e10, events = 2e7;
  if (!point.with_model()) return events * jobs;
  if (point.device != "cuda") return numbers * jobs;
  return most_numbers_a_second(point.model->make_float32()->blueprint());
}

/// Whether its runs would take a minute even on a machine as fast as none is.
bool may_take_long(const Job& job) {
  const std::vector<double> work = job.missing_work();
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  const auto& points = job.scenario.points;
  const auto training = std::ranges::find_if(points, &Point::with_model);
  return sum > 60 * fastest(training == points.end() ? points.front() : *training, job.jobs);
}

/// Before the runs begin: that they take more than ten minutes, and what would be faster.
void tell_of_long_runs(const Job& job) {
  constexpr double ten_minutes = 600;
  if (!may_take_long(job)) return;
  const RunsCost cost = cost_of_runs(job.scenario, job.plan, job.missing_of_points(), job.jobs,
                                     tell_steps(job.scenario.first().name));
  const double seconds = cost.seconds + cost.publishing;
  if (!(seconds > ten_minutes)) return;
  const std::string gpu = why_gpu(job.scenario);
  tell_note(job.scenario.first().name + " will take about " + duration_text(seconds) +
            " on this machine" + (gpu.empty() ? "" : "; a GPU would be faster: " + gpu));
}

struct Outcome {
  bool holds_results = false;
  std::size_t failed = 0;
};

/// What the user should know of the runs, before results are told.
void report_troubles(const Job& job, const RunFailures& failures) {
  std::ranges::for_each(job.folder->notes(), tell_note);
  std::ranges::for_each(job.scenario.shelf->notes(), tell_note);
  std::ranges::for_each(job.scenario.trace_notes(), tell_note);
  for (const auto& [run, reason] : failures)
    std::cerr << "gradrace: failed: " << job.scenario.point_of(run).label.text() << ", replica "
              << job.scenario.replica_of(run) << ": " << printable(reason) << '\n';
}

/// Of a call that made no run.
void report_whole(const Job& job, bool files_are_new) {
  std::cout << printable(job.scenario.first().name) << ": all "
            << count_text(job.folder->size(), "run")
            << (job.folder->size() == 1 ? " is there" : " are there")
            << (files_are_new ? "; the files are written anew\n" : "; nothing is to be done\n");
}

void report_replaced(const std::string& format, bool had_drawings, bool will_plot) {
  if (!format.empty())
    std::cout << "note: tables are CSV again; gradrace collect --format " << format
              << " makes them what they were\n";
  if (had_drawings) std::cout << note_of_drawings(will_plot);
}

/// Makes what is missing, and publishes what is there.
Outcome run_job(Job& job, const RunOptions& options, Progress& progress, std::size_t first) {
  RunFolder& folder = *job.folder;
  const bool was_whole = job.missing.empty();
  job.runs = std::make_unique<ScenarioRuns>(folder, job.plan, job.missing, job.jobs, progress,
                                            first, [] { return interrupted.load(); });
  const ScenarioRuns& runs = *job.runs;
  job.was_left = !job.runs->run();
  folder.sync();
  const RunFailures& failures = runs.failures();
  const double elapsed = progress.elapsed();
  progress.clear();
  const bool was_interrupted = interrupted;
  const auto stop = [was_interrupted] { return interrupted && !was_interrupted; };
  try {
    if (!options.shard && folder.present() == folder.size()) folder.put_in_order(stop);
  } catch (const PublishingEnded&) {
    return {true, failures.size()};
  }
  report_troubles(job, failures);
  if (options.shard) {
    if (options.report) report_shard(job, *options.shard, failures);
    return {folder.present() > 0, failures.size()};
  }
  if (folder.present() == 0 && failures.empty()) return {};
  const bool is_new =
      !was_whole || folder.files().has_other_forms() || !is_published(folder.path(), job.scenario);
  const auto other_format = [&]() -> std::string {
    if (std::filesystem::exists(folder.path() / parquet_name("runs.csv"))) return "parquet";
    return std::filesystem::exists(folder.path() / database) ? "sqlite" : "";
  };
  const std::string format = other_format();
  Summary summary;
  try {
    summary = is_new
                  ? publish(folder, job.plan.theories, failures,
                            {.jobs = job.jobs, .elapsed = elapsed, .device = runs.device_facts()},
                            Format::csv, stop)
                  : summary_of(folder);
  } catch (const PublishingEnded&) {
    return {true, failures.size()};
  }
  if (!options.report) return {true, failures.size()};
  Answer answer;
  if (!options.quiet) {
    const bool has_choice = job.scenario.points.size() > 1;  // of one the table says all
    if (has_choice && !interrupted) answer = answer_of(folder);
    if (was_whole) report_whole(job, is_new);
    if (is_new)
      report_replaced(other_format().empty() ? format : "", summary.drawings_went, options.plot);
    std::cout << closing_table(job.scenario, job.plan.theories, summary.runs, elapsed,
                               terminal_width(), answer.named);
    if (!runs.device_facts().name.empty())
      print_line(device_text(runs.device_facts(), elapsed) + reason_text(job.scenario), 8);
    print_notes(summary.notes);
    const std::string advice = evaluation_advice(runs.device_facts());
    if (!advice.empty()) print_notes({advice});
  }
  std::cout << place_text(folder);
  print_answer(answer);
  return {true, failures.size()};
}

}  // namespace

int run_scenarios(const RunOptions& options) {
  const std::vector<Scenario> scenarios = read_scenarios(options);
  std::vector<std::unique_ptr<Job>> jobs;
  for (const auto& scenario : scenarios) jobs.push_back(std::make_unique<Job>(scenario, options));
  std::optional<Signals> handled(std::in_place);  // there is nothing to keep before
  for (auto& job : jobs) job->open_folder(options);
  for (auto& job : jobs) {
    if (options.begin == RunFolder::Begin::anew) job->folder->begin_anew();
    job->missing = job->folder->missing();
  }
  if (options.tells()) {
    handled.reset();  // so that the first signal ends it
    for (const auto& job : jobs) tell_of_long_runs(*job);
    handled.emplace();
  }
  std::vector<std::filesystem::path> done;
  std::size_t failed = 0;
  std::optional<Progress> progress(std::in_place, options.progress);
  std::vector<std::size_t> firsts;
  for (const auto& job : jobs) {
    firsts.push_back(
        progress->add(job->scenario.first().name, job->missing_work(), job->folder->present()));
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Outcome outcome = run_job(*jobs[i], options, *progress, firsts[i]);
    if (outcome.holds_results) done.push_back(jobs[i]->folder->path());
    failed += outcome.failed;
  }
  if (interrupted) progress->interrupt();
  progress.reset();
  std::cout << std::flush;
  if (interrupted) {
    const auto name_of = [](const auto& job) { return job->scenario.first().name; };
    if (options.report)
      std::cerr << (done.empty()
                        ? "interrupted before a run of " + printable(joined(jobs, ", ", name_of)) +
                              " had finished: none is kept\n"
                        : "interrupted: the runs that had finished are kept; the same "
                          "call goes on\n");
    // Threads that are in the middle of a step hold what would be destroyed.
    if (std::ranges::any_of(jobs, [](const auto& job) { return job->was_left; }))
      std::_Exit(interrupted_status);
    return interrupted_status;
  }
  if (failed > 0) {
    std::cerr << "gradrace: " << count_text(failed, "run")
              << " failed; the same call tries again\n";
    return 1;
  }
  handled.reset();  // nor afterwards
  return options.plot ? plot_folders(done) : 0;
}

static std::optional<Shard> shard_of(const Arguments& call) {
  if (!call.has("shard")) return {};
  const std::string text = call.text("shard");
  if (const auto shard = Shard::from(text)) return shard;
  call.refuse("--shard takes I/N with I from 1 to N, such as 3/7, got \"" + text + "\"");
}

static RunFolder::Begin begin_of(const Arguments& call) {
  const bool force = call.has("force"), resume = call.has("resume");
  if (force && resume) call.refuse("--force begins anew, and --resume goes on; take one");
  if (force) return RunFolder::Begin::anew;
  return resume ? RunFolder::Begin::go_on : RunFolder::Begin::new_or_go_on;
}

static Progress::Style progress_of(const Arguments& call) {
  if (!call.has("progress"))
    return call.has("quiet") ? Progress::Style::none : Progress::Style::text;
  const std::string style = call.text("progress");
  if (style == "text") return Progress::Style::text;
  if (style == "json") return Progress::Style::json;
  call.refuse("--progress takes text or json, got \"" + style + "\"");
}

static int run(const Words& words) {
  Syntax syntax{.positional = "file"};
  add_scenario_options(syntax);
  syntax.options.add_options()                                               //
      ("out", po::value<std::string>()->value_name("DIR"),                   //
       "output folder (default out/<name>; with several files DIR/<name>)")  //
      ("jobs", po::value<std::string>()->value_name("N"),
       "threads (default: cores; CUDA runs/64), up to 16 a core")                               //
      ("shard", po::value<std::string>()->value_name("I/N"),                                    //
       "one of N parts of the runs, of about equal work; gradrace collect puts them together")  //
      ("dry-run", "say what is to be run and what it takes, and run nothing")                   //
      ("resume", "go on in a folder, which is an error where there is nothing to go on with")   //
      ("force", "begin anew, whatever runs are there");
  add_compress_option(syntax);
  syntax.options.add_options()                                         //
      ("plot", "draw the plots afterwards")                            //
      ("progress", po::value<std::string>()->value_name("text|json"),  //
       "on stderr, with --quiet too: a line for people (default), or a line of JSON every "
       "second")  //
      ("quiet", "no progress, no table, no answer");
  const auto call = parse(run_command, words, syntax);
  if (!call) return 0;
  const RunOptions options{.files = call->paths("file"),
                           .changes = changes_of(*call),
                           .out = call->path("out"),
                           .jobs = call->jobs(),
                           .shard = shard_of(*call),
                           .begin = begin_of(*call),
                           .compression = compression_of(*call),
                           .plot = call->has("plot"),
                           .quiet = call->has("quiet"),
                           .progress = progress_of(*call)};
  if (options.shard && options.plot)
    call->refuse(
        "--plot draws all runs, and --shard makes a part; gradrace collect, then "
        "gradrace plot");
  if (options.shard && call->has("compress"))
    call->refuse(
        "--compress is of the files of results, and --shard writes none; it goes to gradrace "
        "collect");
  return call->has("dry-run") ? dry_run(options) : run_scenarios(options);
}

extern const Command run_command{
    "run", "runs scenarios (sweep points x replicas) and writes an output folder for each",
    "  gradrace run FILE... [options]\n\n"
    "A run that has finished is kept in the folder at once (runs.store), and the same call goes "
    "on\n"
    "where it was ended: by a signal, a crash or a power cut.  So does a scenario with another\n"
    "sweep or more replicas, whose files then have its runs.  FILE may be - (standard input, in\n"
    "out/stdin), or the manifest.json of results, whose folder --out names.  With another\n"
    "--compress, or without it, files are written anew, and no run is made again.\n"
    "--progress json: state (running, ended, interrupted); runs done of this call's total, kept "
    "of\n"
    "earlier calls, diverged, failed; share of the work done; seconds, seconds_left,\n"
    "gradients_per_second, scenario.\n\n"
    "Examples:\n"
    "  gradrace run quickstart --plot\n"
    "  gradrace run quickstart --set cluster.learners=16 --replicas 10 --out "
    "out/p16\n"
    "  gradrace run quickstart --timing-only --set 'stop={\"updates\": 100000}'\n"
    "  gradrace run sweep.json --shard 3/7 --out out/sweep       and 1/7, 2/7, ... elsewhere\n"
    "  gradrace run sweep.json --dry-run                         how long will it take?\n",
    run};

}  // namespace gradrace
