#include "sim/cli/commands/dry_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <numeric>
#include <set>
#include <string>

#include "models/gpu/cuda/cuda_device.h"
#include "sim/cli/commands/run_call.h"
#include "sim/cli/commands/run_cost.h"
#include "sim/cli/results/duration.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/scenario/auto_device.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double most_made = 1 << 24;  // numbers of a data set, which take less than a second
constexpr double most_theory = 2;      // seconds of it

std::string megabytes(double bytes) { return short_number(bytes / 1e6, 3) + " MB"; }

/// Of a process that computes little: the program itself, as far as it is read.
std::string memory_text(double bytes) {
  constexpr double least = 30e6;
  return megabytes(std::max(bytes, least)) + (bytes < least ? " or less" : "");
}

std::string about_text(double seconds) {
  constexpr double year = 365.25 * 24 * 3600;
  if (std::isnan(seconds)) return "not known, as nothing tells beforehand when its runs end";
  if (seconds > 1000 * year) return "more than 1,000 years";
  return seconds < 1 ? "less than a second" : "about " + duration_text(seconds);
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

/// By what is found on the way, which nothing tells beforehand.
bool may_end_sooner(const Scenario& scenario) {
  return std::ranges::any_of(scenario.points,
                             [](const Point& point) { return is_judged(point.stop); });
}

}  // namespace

int dry_run(const RunOptions& options) {
  double all = 0;
  auto begin = Clock::now();
  for (const auto& scenario : read_scenarios(options)) {
    const unsigned jobs = jobs_for(scenario, options);
    const TellStep tell = tell_steps(scenario.first().name);
    scenario.shelf->make_parts(most_made);
    const RunPlan plan =
        plan_of(scenario, std::min<std::size_t>(jobs, scenario.runs()), tell, most_theory);
    const double before = std::chrono::duration<double>(Clock::now() - begin).count();
    const auto folder = folder_of(scenario, options);
    const std::vector<std::size_t> runs = runs_of_call(scenario, plan, options);
    if (options.begin != RunFolder::Begin::anew) refuse_other_runs(folder, scenario);
    const std::vector<std::size_t> missing = missing_runs(scenario, folder, runs, options);
    const std::size_t left = std::accumulate(missing.begin(), missing.end(), std::size_t{0});
    const RunsCost cost = cost_of_runs(scenario, plan, missing, jobs, tell, options.compression);
    const std::size_t threads = std::clamp<std::size_t>(left, 1, jobs);
    const double wall = before + plan.seconds_left_out + scenario.shelf->seconds_left_out() +
                        cost.seconds + cost.publishing;
    all += wall;
    const std::string why = why_device(scenario, no_cuda_device);
    std::cout << printable(scenario.first().name) << ": "
              << count_text(scenario.points.size(), "point") << " x "
              << count_text(scenario.replicas(), "replica")
              << (options.shard ? ", shard " + options.shard->text() : "") << ": "
              << count_text(runs.size(), "run") << ", " << runs.size() - left
              << (runs.size() - left == 1 ? " is there" : " are there")
              << "\n  folder: " << printable((folder / "").string())
              << "\n  time: " << about_text(wall) << " with " << count_text(threads, "thread")
              << " of this machine, the longest run " << about_text(cost.longest)
              << (may_end_sooner(scenario)
                      ? ", if no loss or error that stop names ends them sooner"
                      : "")
              << "\n  memory: about " << memory_text(cost.memory) << "\n  disk: about "
              << megabytes(cost.store + (options.shard ? 0 : cost.files)) << '\n'
              << (why.empty() ? "" : "  device: " + device_of(scenario) + "; " + why + "\n");
    begin = Clock::now();
  }
  if (options.files.size() > 1) std::cout << "in all " << about_text(all) << '\n';
  return 0;
}

}  // namespace gradrace
