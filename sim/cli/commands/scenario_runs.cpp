#include "sim/cli/commands/scenario_runs.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "models/make_device.h"
#include "sim/cli/output/disk.h"
#include "sim/cli/scenario/run_work.h"

namespace gradrace {

namespace {

using Clock = std::chrono::steady_clock;

/// More would take memory and save no time.
std::size_t most_threads() { return 16 * std::max(1u, std::thread::hardware_concurrency()); }

RunQueue queue_of(const Scenario& scenario, const RunPlan& plan,
                  const std::vector<std::size_t>& missing) {
  std::vector<RunQueue::Task> tasks;
  for (const std::size_t run : missing) {
    const std::size_t point = scenario.point_number(run);
    tasks.push_back({run, plan.work[point], plan.group_of[point]});
  }
  return {std::move(tasks), plan.groups.size()};
}

}  // namespace

ScenarioRuns::ScenarioRuns(RunFolder& folder, const RunPlan& plan,
                           const std::vector<std::size_t>& missing, unsigned jobs,
                           Progress& progress, std::size_t first, std::function<bool()> stop)
    : folder_(folder),
      scenario_(folder.scenario()),
      plan_(plan),
      jobs_(std::min<std::size_t>({jobs, missing.size(), most_threads()})),
      crew_(std::max<std::size_t>(jobs_, std::min(jobs, std::thread::hardware_concurrency()))),
      progress_(progress),
      number_of_(scenario_.runs()),
      stop_(std::move(stop)),
      queue_(queue_of(scenario_, plan, missing)) {
  for (std::size_t i = 0; i < missing.size(); ++i) number_of_[missing[i]] = first + i;
}

bool ScenarioRuns::run() {
  std::vector<std::thread> threads;
  threads.reserve(crew_.members());
  try {
    for (std::size_t i = 0; i < crew_.members(); ++i)
      threads.emplace_back([this, i] {
        if (i < jobs_) work(i);
        crew_.help(i);
        const std::lock_guard lock(mutex_);
        ++ended_;
        changed_.notify_all();
      });
  } catch (const std::exception&) {
    if (threads.empty()) throw;  // the system allows fewer: these do it all
    crew_.lack(crew_.members() - threads.size());
  }
  const bool have_ended = wait_for(threads.size());
  for (std::thread& thread : threads) have_ended ? thread.join() : thread.detach();
  if (failure_) std::rethrow_exception(failure_);
  return have_ended;
}

/// Whether so many have ended; a run that is being added to the folder is waited for.
bool ScenarioRuns::wait_for(std::size_t threads) {
  constexpr auto patience = std::chrono::milliseconds(500);
  constexpr auto often = std::chrono::milliseconds(50);  // a signal wakes nobody
  std::optional<Clock::time_point> stopped;
  std::unique_lock lock(mutex_);
  while (ended_ < threads) {
    if (!stopped && stop_()) stopped = Clock::now();
    if (stopped && Clock::now() - *stopped > patience) {
      is_left_ = true;
      changed_.wait(lock, [this] { return keeping_ == 0; });
      return ended_ == threads;
    }
    changed_.wait_for(lock, often);
  }
  return true;
}

void ScenarioRuns::work(std::size_t member) {
  std::unique_ptr<Device> device;
  std::optional<std::size_t> group_of_device;
  std::string obstacle;  // of the group
  try {
    while (!stopping()) {
      std::size_t group = 0;
      Batch batch = take(group);
      if (batch.empty()) break;
      if (group_of_device != group) {
        note(device.get());
        group_of_device = group;
        device.reset();  // its memory is the next one's
        obstacle = plan_.groups[group].obstacle;
        if (obstacle.empty() && scenario_.point_of(batch.front()).with_model())
          device = make_device(group, member, obstacle);
      }
      if (!obstacle.empty()) {
        note_failure(batch, obstacle);
        continue;
      }
      if (device) take_more(batch, group, device->cohort());
      race(batch, device.get());
    }
    note(device.get());
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    broken_ = true;
  }
}

/// For the greatest of the points in the group; null and an obstacle where memory lacks.
std::unique_ptr<Device> ScenarioRuns::make_device(std::size_t group, std::size_t member,
                                                  std::string& obstacle) {
  const auto point = std::ranges::find(plan_.group_of, group) - plan_.group_of.begin();
  DeviceOptions options = plan_.groups[group].options;
  options.devices = static_cast<unsigned>(jobs_);
  options.crew = &crew_;
  options.member = member;
  try {
    return gradrace::make_device(*scenario_.points[static_cast<std::size_t>(point)].model, options);
  } catch (const std::bad_alloc&) {
    obstacle = "out of memory";
    return nullptr;
  }
}

/// The next run, if there is one.
ScenarioRuns::Batch ScenarioRuns::take(std::size_t& group) {
  const std::lock_guard lock(mutex_);
  const auto task = queue_.take();
  if (!task) return {};
  group = task->group;
  return {task->run};
}

/// Further runs of its group, until the cohort is full or the thread has its share of all runs.
void ScenarioRuns::take_more(Batch& batch, std::size_t group, std::size_t cohort) {
  const std::size_t wanted = std::min(cohort, (queue_.size() + jobs_ - 1) / jobs_);
  const std::lock_guard lock(mutex_);
  while (batch.size() < wanted) {
    const auto task = queue_.take_of(group);
    if (!task) break;
    batch.push_back(task->run);
  }
  facts_.cohort = std::max(facts_.cohort, batch.size());
}

void ScenarioRuns::note(const Device* device) {
  if (device == nullptr) return;
  const std::lock_guard lock(mutex_);
  facts_.name = device->name();
  facts_.threads = facts_.name == "cpu" ? crew_.members() : jobs_;
  if (const auto seconds = device->kernel_seconds())
    facts_.kernel_seconds = facts_.kernel_seconds.value_or(0) + *seconds;
  facts_.evaluation_seconds += device->evaluation_seconds().value_or(0);
}

void ScenarioRuns::race(const Batch& batch, Device* device) {
  std::vector<std::unique_ptr<Race>> races;
  std::vector<std::unique_ptr<RunRecorders>> recorders;
  std::vector<Run> runs;
  double seconds = 0;
  try {
    for (const std::size_t run : batch) {
      const Point& point = scenario_.point_of(run);
      const auto replica = scenario_.replica_of(run);
      const auto& race = races.emplace_back(std::make_unique<Race>(point.race()));
      const auto& recorder = recorders.emplace_back(
          std::make_unique<RunRecorders>(replica, point, folder_.files().spool_file()));
      runs.emplace_back(*race, replica, device != nullptr, recorder->observer(), &recorder->curve(),
                        segment_limit_of(*race, run, device));
    }
    if (device) device->prepare();
    const auto begin = Clock::now();
    drive_batch(runs, batch, device);
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  } catch (const DiskError&) {
    throw;
  } catch (const std::bad_alloc&) {
    return note_failure(batch, "out of memory");
  } catch (const std::exception& error) {
    return note_failure(batch, error.what());
  }
  add_run_seconds(seconds);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].over()) continue;
    const RunRecord record = runs[i].record();
    if (record.status == Status::failed) {
      note_failure({batch[i]}, record.reason);
      continue;
    }
    keep(batch[i], record, *recorders[i]);
  }
}

void ScenarioRuns::keep(std::size_t run, const RunRecord& record, RunRecorders& recorder) {
  const RunResult result = recorder.finish(record);
  std::unique_lock lock(mutex_);
  if (is_left_) return;
  ++keeping_;
  lock.unlock();
  std::exception_ptr refused;
  try {
    folder_.add(run, result, recorder.rows());
    progress_.end(number_of_[run], record.status);
  } catch (...) {
    refused = std::current_exception();
  }
  lock.lock();
  --keeping_;
  changed_.notify_all();
  if (refused) std::rethrow_exception(refused);
  facts_.gradients += record.gradients_computed;
}

std::uint32_t ScenarioRuns::segment_limit_of(const Race& race, std::size_t run,
                                             const Device* device) const {
  if (device == nullptr) return TimingPlane::default_limit;
  constexpr std::uint32_t beside_device = 1024;  // so that it works while the next ones are made
  if (device->name() != "cpu") return beside_device;
  const std::size_t group = plan_.group_of[scenario_.point_number(run)];
  return segment_limit(race, plan_.groups[group].memory.value.numbers);
}

void ScenarioRuns::add_run_seconds(double seconds) {
  const std::lock_guard lock(mutex_);
  facts_.run_seconds += seconds;
}

void ScenarioRuns::drive_batch(std::vector<Run>& runs, const Batch& batch, Device* device) {
  std::vector<std::uint64_t> reported(runs.size());
  const auto report = [&] {
    if (stopping()) return false;  // and the progress may be gone
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const std::uint64_t applied = runs[i].applied();
      progress_.report(number_of_[batch[i]], runs[i].progress(), applied - reported[i]);
      reported[i] = applied;
    }
    return true;
  };
  drive(runs, device, report);
  report();
}

void ScenarioRuns::note_failure(const Batch& batch, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  for (const std::size_t run : batch) {
    failures_[run] = reason;
    progress_.end(number_of_[run], Status::failed);
  }
}

}  // namespace gradrace
