#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "models/cpu/crew.h"
#include "sim/cli/commands/run_plan.h"
#include "sim/cli/commands/run_queue.h"
#include "sim/cli/results/progress.h"
#include "sim/cli/results/publish.h"
#include "sim/cli/results/run_recorders.h"

namespace gradrace {

/// Makes the runs of a folder that are missing, over threads.
class ScenarioRuns {
 public:
  /// jobs: threads; those that have no run left help the others, on the CPU.
  /// first: the number of its first run in the progress, in which they stand in the order of
  /// `missing`.  stop: asked often; true leaves what is under way.
  ScenarioRuns(RunFolder& folder, const RunPlan& plan, const std::vector<std::size_t>& missing,
               unsigned jobs, Progress& progress, std::size_t first, std::function<bool()> stop);

  /// Until all are made, or it is stopped.  Throws what the disk says.  False: half a second after
  /// it was to stop, threads are in a step that takes longer.  They are left there, and this must
  /// outlive them, that is, the process.
  [[nodiscard]] bool run();

  /// What the gradients were computed with.
  const DeviceFacts& device_facts() const { return facts_; }
  /// Runs that could not be made; the others went on.
  const RunFailures& failures() const { return failures_; }

 private:
  using Batch = std::vector<std::size_t>;  // runs that a thread takes at once, of one group

  void work(std::size_t member);
  bool wait_for(std::size_t threads);
  void keep(std::size_t run, const RunRecord& record, RunRecorders& recorder);
  std::unique_ptr<Device> make_device(std::size_t group, std::size_t member, std::string& obstacle);
  void race(const Batch& batch, Device* device);
  std::uint32_t segment_limit_of(const Race& race, std::size_t run, const Device* device) const;
  void add_run_seconds(double seconds);
  void drive_batch(std::vector<Run>& runs, const Batch& batch, Device* device);
  void note_failure(const Batch& batch, const std::string& reason);
  Batch take(std::size_t& group);
  void take_more(Batch& batch, std::size_t group, std::size_t cohort);
  void note(const Device* device);
  bool stopping() const { return stop_() || broken_; }

  RunFolder& folder_;
  const Scenario& scenario_;
  const RunPlan& plan_;
  const std::size_t jobs_;  // runs under way at once
  Crew crew_;
  Progress& progress_;
  std::vector<std::size_t> number_of_;  // [run]: in the progress
  const std::function<bool()> stop_;
  RunQueue queue_;
  DeviceFacts facts_;
  RunFailures failures_;
  std::atomic<bool> broken_ = false;
  std::mutex mutex_;
  std::exception_ptr failure_;  // of what is not a run's own
  std::condition_variable changed_;
  std::size_t ended_ = 0, keeping_ = 0;  // threads; those that add a run to the folder
  bool is_left_ = false;                 // nothing is added any more
};

}  // namespace gradrace
