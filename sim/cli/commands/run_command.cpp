#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>

#include "sim/cli/commands/commands.h"
#include "sim/cli/commands/jobs.h"
#include "sim/cli/commands/run_queue.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/results/output_folder.h"
#include "sim/cli/results/progress.h"
#include "sim/cli/results/results_writer.h"
#include "sim/cli/results/table.h"
#include "sim/cli/results/theory_files.h"
#include "sim/cli/scenario/memory.h"
#include "sim/cli/scenario/run_work.h"
#include "sim/cli/usage_error.h"
#include "sim/engine/run.h"
#include "sim/reading/characters.h"
#include "sim/reading/document.h"

namespace gradrace {

namespace po = boost::program_options;

namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

/// The second one ends the program at once.
extern "C" void on_signal(int signal) {
  interrupted = true;
  constexpr std::string_view told =
      "\ninterrupted: ending what is under way; again ends it at once\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, told.data(), told.size());
  std::signal(signal, SIG_DFL);
}

/// All runs of one scenario, over threads.
class ScenarioRuns {
 public:
  ScenarioRuns(const Scenario& scenario, const std::vector<Theory>& theories, ResultsWriter& writer,
               Progress& progress, unsigned jobs)
      : scenario_(scenario),
        writer_(writer),
        progress_(progress),
        jobs_(std::min<std::size_t>(jobs, scenario.points.size() * scenario.first().replicas)),
        threads_of_run_(std::max(1u, std::min(jobs, std::thread::hardware_concurrency()) /
                                         static_cast<unsigned>(jobs_))),
        queue_({}, scenario.first().replicas) {
    std::map<std::string, Group> groups;
    std::vector<RunQueue::Task> tasks;
    for (std::size_t i = 0; i < scenario.points.size(); ++i) {
      const Point& point = scenario.points[i];
      const auto [found, is_new] = groups.try_emplace(point.device_text);
      Group& group = found->second;
      if (is_new) group.number = groups.size() - 1;
      if (is_new && point.with_model()) group.value = point.model->value_layout();
      races_.push_back(point.race());
      if (point.with_model()) check_memory(point, races_.back(), group.value, jobs_);
      tasks.push_back(
          {run_work(point, races_.back(), theories[i], group.value.numbers), group.number});
    }
    queue_ = RunQueue(std::move(tasks), scenario.first().replicas);
  }

  void run() {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < jobs_; ++i) threads.emplace_back([this] { work(); });
    threads.clear();
    if (failure_) std::rethrow_exception(failure_);
  }

  /// What the gradients were computed with.
  DeviceFacts device_facts() const { return facts_; }

 private:
  /// Points whose runs one device can replay side by side.
  struct Group {
    std::size_t number = 0;
    ValueLayout value = {};
  };
  /// Runs that a thread takes at once, of points of one group.
  using Batch = std::vector<std::size_t>;

  void work() {
    std::unique_ptr<Device> device;
    std::optional<std::size_t> group;  // that the device is for
    try {
      while (!stopping()) {
        Batch batch = take();
        if (batch.empty()) break;
        if (const std::size_t wanted = queue_.group_of(batch.front()); group != wanted) {
          note(device.get());
          group = wanted;
          device.reset();  // its memory is the next one's
          device = make_device(batch.front());
        }
        if (device) take_more(batch, device->cohort());
        race(batch, device.get());
      }
      note(device.get());
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      failed_ = true;
    }
  }

  std::size_t point_of(std::size_t run) const { return run / scenario_.first().replicas; }

  /// For the greatest of the points in the group of the run.
  std::unique_ptr<Device> make_device(std::size_t run) const {
    const Point& at = scenario_.points[point_of(run)];
    if (!at.with_model()) return nullptr;
    DeviceOptions options{.device = at.device,
                          .rows = at.rows,
                          .devices = static_cast<unsigned>(jobs_),
                          .threads = at.device == "cuda" ? 1 : threads_of_run_};
    for (std::size_t point = 0; point < races_.size(); ++point) {
      if (scenario_.points[point].device_text != at.device_text) continue;
      options.learners = std::max(options.learners, races_[point].learners);
      for (const Plan& plan : races_[point].plans) {
        options.minibatch = std::max(options.minibatch, plan.recipe.minibatch);
        options.rules.push_back(plan.rule);
      }
    }
    return at.model->make_device(options);
  }

  /// The next run, if there is one.
  Batch take() {
    const std::lock_guard lock(mutex_);
    const auto run = queue_.take();
    return run ? Batch{*run} : Batch{};
  }

  /// Further runs of its group, until the cohort is full or the thread has its share of all runs.
  void take_more(Batch& batch, std::size_t cohort) {
    const std::size_t wanted = std::min(cohort, (queue_.size() + jobs_ - 1) / jobs_);
    const std::size_t group = queue_.group_of(batch.front());
    const std::lock_guard lock(mutex_);
    while (batch.size() < wanted) {
      const auto run = queue_.take_of(group);
      if (!run) break;
      batch.push_back(*run);
    }
    facts_.cohort = std::max(facts_.cohort, batch.size());
  }

  void note(const Device* device) {
    if (device == nullptr) return;
    const std::lock_guard lock(mutex_);
    facts_.name = device->name();
    facts_.threads = jobs_ * threads_of_run_;
    if (const auto seconds = device->kernel_seconds())
      facts_.kernel_seconds = facts_.kernel_seconds.value_or(0) + *seconds;
  }

  void race(const Batch& batch, Device* device) {
    std::vector<std::unique_ptr<RunRecorders>> recorders;
    std::vector<Run> runs;
    for (const std::size_t run : batch) {
      const auto replica = static_cast<std::uint32_t>(run % scenario_.first().replicas);
      const auto& recorder = recorders.emplace_back(writer_.recorders(run));
      runs.emplace_back(races_[point_of(run)], replica, device != nullptr, recorder->observer(),
                        &recorder->curve());
    }
    std::vector<std::uint64_t> reported(runs.size());
    const auto report = [&] {
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::uint64_t applied = runs[i].applied();
        progress_.report(batch[i], runs[i].progress(), applied - reported[i]);
        reported[i] = applied;
      }
      return !stopping();
    };
    drive(runs, device, report);
    report();
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i].over()) continue;
      const RunRecord record = runs[i].record();
      const std::lock_guard lock(mutex_);
      facts_.gradients += record.gradients_computed;
      writer_.add(batch[i], record, *recorders[i]);
    }
  }

  bool stopping() const { return interrupted || failed_; }

  const Scenario& scenario_;
  ResultsWriter& writer_;
  Progress& progress_;
  const std::size_t jobs_;         // runs under way at once
  const unsigned threads_of_run_;  // where there are more jobs than runs
  std::vector<Race> races_;        // [point]
  RunQueue queue_;
  DeviceFacts facts_;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

std::filesystem::path folder_of(const Scenario& scenario, const RunOptions& options) {
  if (options.out.empty()) return std::filesystem::path("out") / scenario.first().name;
  return options.files.size() > 1 ? options.out / scenario.first().name : options.out;
}

/// False if it was interrupted before a run had finished: then nothing is kept.
bool run_scenario(const Scenario& scenario, OutputFolder& folder, const RunOptions& options) {
  std::vector<Theory> theories;
  for (const auto& point : scenario.points) theories.push_back(point.theory());
  const auto curves = error_curve_rows(scenario);
  if (!curves.empty()) folder.append("theory.csv", theory_csv.text(curves));
  const std::size_t count = scenario.points.size() * scenario.first().replicas;
  const bool cuda = std::ranges::any_of(scenario.points, [](const Point& point) {
    return point.with_model() && point.device == "cuda";
  });
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const unsigned jobs = options.jobs > 0 ? options.jobs : default_jobs(cuda, count, cores);
  ResultsWriter writer(scenario, theories, folder);
  double elapsed = 0;
  DeviceFacts device;
  {
    Progress progress(scenario.first().name, count, options.quiet);
    ScenarioRuns runs(scenario, theories, writer, progress, jobs);
    runs.run();
    elapsed = progress.elapsed();
    device = runs.device_facts();
  }
  writer.finish();
  const auto& summaries = writer.summaries();
  const auto finished =
      summaries.size() - static_cast<std::size_t>(std::ranges::count(summaries, Status::interrupted,
                                                                     &RunSummary::status));
  if (finished == 0) return false;
  folder.append("manifest.json",
                manifest_text(scenario, {count, finished, jobs, elapsed, device, writer.notes()}));
  folder.publish();
  if (!options.report) return true;
  if (!options.quiet) {
    std::cout << closing_table(scenario, theories, summaries, elapsed);
    if (!device.name.empty()) std::cout << device_text(device, elapsed) << '\n';
    for (const auto& note : writer.notes()) std::cout << "note: " << printable(note) << '\n';
  }
  std::cout << "results: " << printable((folder.path() / "").string()) << '\n';
  return true;
}

}  // namespace

int run_scenarios(const RunOptions& options) {
  std::vector<Scenario> scenarios;
  std::vector<Problem> problems;
  for (const auto& file : options.files) {
    try {
      scenarios.push_back(read_scenario(file, options.changes));
    } catch (const ScenarioError& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  if (!problems.empty()) throw ScenarioError(problems);

  std::vector<std::unique_ptr<OutputFolder>> folders;
  std::set<std::filesystem::path> places;
  for (const auto& scenario : scenarios) {
    if (!places.insert(folder_of(scenario, options)).second) {
      throw UsageError(scenario.file.string() + ": another scenario of this call is named \"" +
                       scenario.first().name + "\" too; give one of them another name");
    }
    folders.push_back(std::make_unique<OutputFolder>(folder_of(scenario, options), options.force));
  }
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::vector<std::filesystem::path> done;
  for (std::size_t i = 0; i < scenarios.size() && !interrupted; ++i) {
    if (run_scenario(scenarios[i], *folders[i], options)) done.push_back(folders[i]->path());
  }
  if (interrupted) {
    if (options.report)
      std::cerr
          << (done.empty()
                  ? "interrupted before a run had finished: nothing is kept\n"
                  : "interrupted: the runs that had finished are kept; use --force to run all "
                    "again\n");
    return 130;
  }
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  std::cout << std::flush;
  return options.plot ? plot_folders(done) : 0;
}

static int run(const Words& words) {
  Syntax syntax{.positional = "file"};
  add_scenario_options(syntax);
  syntax.options.add_options()                                                               //
      ("out", po::value<std::string>()->value_name("DIR"),                                   //
       "output folder (default out/<name>; with several files DIR/<name>)")                  //
      ("jobs", po::value<int>()->value_name("N"), "threads (default: cores; CUDA runs/64)")  //
      ("force", "overwrite results that are there")                                          //
      ("plot", "draw the plots afterwards")                                                  //
      ("quiet", "no progress, no table");
  const auto values = parse(run_command, words, syntax);
  if (!values) return 0;
  return run_scenarios({.files = paths_of("run", *values, "file"),
                        .changes = changes_of("run", *values),
                        .out = path_of("run", *values, "out"),
                        .jobs = jobs_of("run", *values),
                        .force = values->count("force") != 0,
                        .plot = values->count("plot") != 0,
                        .quiet = values->count("quiet") != 0});
}

extern const Command run_command{
    "run", "runs scenarios (sweep points x replicas) and writes an output folder for each",
    "  gradrace run FILE... [options]\n\n"
    "Examples:\n"
    "  gradrace run scenarios/quickstart.json --plot\n"
    "  gradrace run scenarios/quickstart.json --set cluster.learners=16 --replicas 10 --out "
    "out/p16\n"
    "  gradrace run scenarios/quickstart.json --timing-only --set 'stop={\"updates\": 100000}'\n",
    run};

}  // namespace gradrace
