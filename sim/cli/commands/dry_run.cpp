#include "sim/cli/commands/dry_run.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "models/gpu/cuda/cuda_device.h"
#include "sim/cli/commands/run_call.h"
#include "sim/cli/results/duration.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/scenario/auto_device.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t probes = 5;  // runs that are tried, of points from the least work to the most
constexpr double probe_seconds = 0.2;  // each, once it has got on
constexpr double most_seconds = 4;     // before it has

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The most memory that the process has had, in bytes.
double peak_memory() {
  // Elsewhere than in this file Linux counts what the process was before it became this program.
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) * 1024;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

/// What a run takes, without what all runs share.
struct RunCost {
  double seconds;  // NaN: nothing tells how far it is
  double memory;
  double beside = 1;  // runs that take no longer together
};

/// Of a run of the point, by its first part: what lies before its first progress and, of the rest,
/// the time of what was seen of it.  On a GPU of as many of `missing` runs as it takes at once.
RunCost cost_of_run(const Point& point, const RunPlan::Group& group, std::size_t missing) {
  const double at_first = peak_memory();
  const auto device =
      point.with_model() ? point.model->make_device(group.options) : std::unique_ptr<Device>();
  const double made = peak_memory() - at_first;
  if (device) device->prepare();
  const double before = peak_memory();
  const Race race = point.race();
  std::vector<Run> runs;
  const auto begin = Clock::now();
  const bool is_gpu = device && device->name() != "cpu";
  const std::size_t beside = is_gpu ? std::min(missing, device->cohort()) : 1;
  for (std::uint32_t replica = 0; replica < beside; ++replica)
    runs.emplace_back(race, replica, device != nullptr, nullptr);
  const Stop& stop = race.stop;
  const bool is_foreseen = stop.time || stop.updates || stop.gradients || stop.epochs;
  const double patience = is_foreseen ? most_seconds : probe_seconds;
  double first = 0, first_progress = 0;
  drive(runs, device.get(), [&] {
    const double seconds = seconds_since(begin), progress = runs.front().progress();
    if (first_progress == 0) first = seconds, first_progress = progress;
    return first_progress == 0 ? seconds < patience : seconds < first + probe_seconds;
  });
  const double seconds = seconds_since(begin), progress = runs.front().progress();
  const auto count = static_cast<double>(beside);
  const double memory = made + (peak_memory() - before) / count;
  if (progress >= 1) return {seconds, memory, count};
  if (!(first_progress > 0)) return {std::numeric_limits<double>::quiet_NaN(), memory, count};
  const double rate = progress > first_progress ? (progress - first_progress) / (seconds - first)
                                                : first_progress / first;
  return {first + (1 - first_progress) / rate, memory, count};
}

std::string about_text(double seconds) {
  constexpr double year = 365.25 * 24 * 3600;
  if (std::isnan(seconds)) return "not known, as nothing tells beforehand when its runs end";
  if (seconds > 1000 * year) return "more than 1,000 years";
  return seconds < 1 ? "less than a second" : "about " + duration_text(seconds);
}

/// What the missing runs of a scenario take.
struct Cost {
  double seconds = 0, longest = 0;  // of one thread; of a GPU, whose threads share it
  double memory = 0;                // bytes; of a run
};

/// missing: [point], how many runs of it.
Cost cost_of(const Scenario& scenario, const RunPlan& plan,
             const std::vector<std::size_t>& missing) {
  std::vector<std::size_t> by_work;
  for (std::size_t point = 0; point < missing.size(); ++point)
    if (missing[point] > 0) by_work.push_back(point);
  std::ranges::stable_sort(by_work, {}, [&](std::size_t point) { return plan.work[point]; });
  Cost cost;
  bool is_known = true;
  const std::size_t parts = std::min(probes, by_work.size());
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = by_work.size() * part / parts,
                      end = by_work.size() * (part + 1) / parts;
    const std::size_t tried = by_work[(begin + end) / 2];
    const auto [seconds, memory, beside] =
        cost_of_run(scenario.points[tried], plan.groups[plan.group_of[tried]], missing[tried]);
    cost.memory = std::max(cost.memory, memory);
    is_known = is_known && !std::isnan(seconds);
    for (std::size_t i = begin; i < end; ++i) {
      const double ratio = plan.work[by_work[i]] / plan.work[tried];
      const double of_run = seconds * (std::isfinite(ratio) ? ratio : 1);
      cost.longest = std::max(cost.longest, of_run);
      cost.seconds += of_run * std::ceil(static_cast<double>(missing[by_work[i]]) / beside);
    }
  }
  if (!is_known) cost.seconds = cost.longest = std::numeric_limits<double>::quiet_NaN();
  return cost;
}

/// [point]; UsageError where the call would go on with runs and there are none.
std::vector<std::size_t> missing_runs(const Scenario& scenario, const std::filesystem::path& folder,
                                      const std::vector<std::size_t>& runs,
                                      const RunOptions& options) {
  std::set<RunName> there;
  if (options.begin != RunFolder::Begin::anew) there = runs_in(folder);
  const RunHeader header = RunHeader::of(scenario, options.shard, runs.size());
  std::vector<std::size_t> missing(scenario.points.size());
  std::size_t present = 0;
  for (const std::size_t run : runs) {
    const bool is_there = there.contains(header.name_of(run, scenario));
    missing[scenario.point_number(run)] += !is_there;
    present += is_there;
  }
  if (options.begin == RunFolder::Begin::go_on && present == 0) refuse_to_go_on(folder);
  return missing;
}

}  // namespace

int dry_run(const RunOptions& options) {
  double seconds = 0;
  for (const auto& scenario : read_scenarios(options)) {
    const unsigned jobs = jobs_for(scenario, options);
    const RunPlan plan = plan_of(scenario, jobs);
    const auto folder = folder_of(scenario, options);
    const std::vector<std::size_t> runs = runs_of_call(scenario, plan, options);
    if (options.begin != RunFolder::Begin::anew) refuse_other_runs(folder, scenario);
    const std::vector<std::size_t> missing = missing_runs(scenario, folder, runs, options);
    const std::size_t left = std::accumulate(missing.begin(), missing.end(), std::size_t{0});
    const Cost cost = cost_of(scenario, plan, missing);
    const double threads = std::max<double>(1, std::min<double>(jobs, static_cast<double>(left)));
    const bool on_gpu = device_of(scenario) == "cuda";
    const double wall = std::max(cost.seconds / (on_gpu ? 1 : threads), cost.longest);
    seconds += wall;
    const std::string why = why_device(scenario, no_cuda_device);
    std::cout << printable(scenario.first().name) << ": "
              << count_text(scenario.points.size(), "point") << " x "
              << count_text(scenario.replicas(), "replica")
              << (options.shard ? ", shard " + options.shard->text() : "") << ": "
              << count_text(runs.size(), "run") << ", " << runs.size() - left
              << (runs.size() - left == 1 ? " is there" : " are there")
              << "\n  folder: " << printable((folder / "").string())
              << "\n  time: " << about_text(wall) << " with "
              << count_text(static_cast<std::size_t>(threads), "thread")
              << " of this machine, the longest run " << about_text(cost.longest)
              << "\n  memory: about "
              << short_number((peak_memory() + (threads - 1) * cost.memory) / 1e6, 3) << " MB\n"
              << (why.empty() ? "" : "  device: " + device_of(scenario) + "; " + why + "\n");
  }
  if (options.files.size() > 1) std::cout << "in all " << about_text(seconds) << '\n';
  return 0;
}

}  // namespace gradrace
