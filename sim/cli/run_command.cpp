#include <algorithm>
#include <atomic>
#include <csignal>
#include <deque>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "sim/cli/commands.h"
#include "sim/cli/error_curve.h"
#include "sim/cli/manifest.h"
#include "sim/cli/output_folder.h"
#include "sim/cli/progress.h"
#include "sim/cli/results_writer.h"
#include "sim/cli/table.h"
#include "sim/cli/usage_error.h"
#include "sim/document.h"
#include "sim/run.h"

namespace gradrace {

namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

/// The second one ends the program at once.
extern "C" void on_signal(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

/// All runs of one scenario, over threads.
class ScenarioRuns {
 public:
  ScenarioRuns(const Scenario& scenario, ResultsWriter& writer, Progress& progress)
      : scenario_(scenario), writer_(writer), progress_(progress) {
    for (const auto& point : scenario.points) races_.push_back(point.race());
  }

  void run(unsigned jobs) {
    const std::size_t count = scenario_.points.size() * scenario_.first().replicas;
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min<std::size_t>(jobs, count); ++i) {
      threads.emplace_back([this] { work(); });
    }
    threads.clear();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  /// Runs of one point that a thread takes at once.
  struct Batch {
    std::size_t point, first, count;
  };

  void work() {
    std::unique_ptr<Device> device;
    std::size_t device_point = scenario_.points.size();
    try {
      while (!stopping()) {
        const Batch batch = take(device.get(), device_point);
        if (batch.count == 0) return;
        const Point& at = scenario_.points[batch.point];
        if (device_point != batch.point) {
          device = at.with_model() ? at.model->make_device({at.device, at.train_rows}) : nullptr;
          device_point = batch.point;
        }
        race(batch, device.get());
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      failed_ = true;
    }
  }

  /// As many runs as the thread's device likes side by side; one where it has none for the point
  /// yet.
  Batch take(const Device* device, std::size_t device_point) {
    const std::lock_guard lock(mutex_);
    const std::size_t replicas = scenario_.first().replicas,
                      all = scenario_.points.size() * replicas;
    const std::size_t first = next_, point = first / replicas;
    const std::size_t wanted = device && device_point == point ? device->cohort() : 1;
    const std::size_t count = first < all ? std::min(wanted, replicas - first % replicas) : 0;
    next_ += count;
    return {point, first, count};
  }

  void race(const Batch& batch, Device* device) {
    const auto replicas = scenario_.first().replicas;
    std::deque<RunRecorders> recorders;
    std::vector<Run> runs;
    for (std::size_t i = 0; i < batch.count; ++i) {
      const auto replica = static_cast<std::uint32_t>((batch.first + i) % replicas);
      recorders.emplace_back(scenario_, batch.point, replica);
      runs.emplace_back(races_[batch.point], replica, device != nullptr,
                        recorders.back().observer());
    }
    std::vector<std::uint64_t> reported(batch.count);
    const auto report = [&] {
      for (std::size_t i = 0; i < batch.count; ++i) {
        const std::uint64_t applied = runs[i].applied();
        progress_.report(batch.first + i, runs[i].progress(), applied - reported[i]);
        reported[i] = applied;
      }
      return !stopping();
    };
    drive(runs, device, report);
    report();
    for (std::size_t i = 0; i < batch.count; ++i) {
      if (!runs[i].over()) continue;
      RunRecord record = runs[i].record();
      const std::lock_guard lock(mutex_);
      writer_.add(batch.first + i, std::move(record), recorders[i]);
    }
  }

  bool stopping() const { return interrupted || failed_; }

  const Scenario& scenario_;
  ResultsWriter& writer_;
  Progress& progress_;
  std::vector<Race> races_;
  std::size_t next_ = 0;  // run
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
  for (const auto& point : scenario.points) {
    theories.push_back(point.theory());
  }
  const std::string curves = error_curve_rows(scenario);
  if (!curves.empty()) folder.append("theory.csv", std::string(error_curve_header) + "\n" + curves);
  const std::size_t count = scenario.points.size() * scenario.first().replicas;
  const unsigned jobs =
      options.jobs > 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  ResultsWriter writer(scenario, theories, folder);
  double elapsed = 0;
  {
    Progress progress(scenario.first().name, count, options.quiet);
    ScenarioRuns(scenario, writer, progress).run(jobs);
    elapsed = progress.elapsed();
  }
  writer.finish();
  const auto& summaries = writer.summaries();
  const auto finished = static_cast<std::size_t>(
      std::count_if(summaries.begin(), summaries.end(),
                    [](const RunSummary& run) { return run.status != Status::interrupted; }));
  if (finished == 0) return false;
  folder.append("manifest.json",
                manifest_text(scenario, {count, finished, jobs, elapsed, writer.notes()}));
  folder.publish();
  if (!options.report) return true;
  if (!options.quiet) {
    std::cout << closing_table(scenario, theories, summaries, elapsed);
    for (const auto& note : writer.notes()) std::cout << "note: " << note << '\n';
  }
  std::cout << "results: " << (folder.path() / "").string() << '\n';
  return true;
}

}  // namespace

int run_command(const RunOptions& options) {
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
    std::cerr << (done.empty() ? "interrupted before a run had finished: nothing is kept\n"
                               : "interrupted: the runs that had finished are kept\n");
    return 130;
  }
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  std::cout << std::flush;
  return options.plot ? plot_command(done) : 0;
}

}  // namespace gradrace
