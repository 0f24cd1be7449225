#include "sim/cli/commands/run_call.h"

#include <algorithm>
#include <set>
#include <thread>

#include "models/gpu/cuda/cuda_device.h"
#include "sim/cli/commands/jobs.h"
#include "sim/cli/scenario/auto_device.h"
#include "sim/cli/usage_error.h"
#include "sim/reading/document.h"

namespace gradrace {

std::filesystem::path folder_of(const Scenario& scenario, const RunOptions& options) {
  if (options.out.empty()) return std::filesystem::path("out") / scenario.first().name;
  return options.files.size() > 1 ? options.out / scenario.first().name : options.out;
}

static bool takes_cuda(const Scenario& scenario) {
  return std::ranges::any_of(scenario.points, [](const Point& point) {
    return point.with_model() && point.device == "cuda";
  });
}

unsigned jobs_for(const Scenario& scenario, const RunOptions& options) {
  if (options.jobs > 0) return options.jobs;
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  return default_jobs(takes_cuda(scenario), scenario.runs(), cores);
}

std::vector<Scenario> read_scenarios(const RunOptions& options) {
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
  for (Scenario& scenario : scenarios) {
    scenario.shelf->use_threads(jobs_for(scenario, options));
    settle_device(scenario, no_cuda_device);
    scenario.shelf->use_threads(jobs_for(scenario, options));
    if (takes_cuda(scenario)) prepare_cuda();  // while data are read
  }
  std::set<std::filesystem::path> places;
  for (const auto& scenario : scenarios) {
    const std::filesystem::path folder = folder_of(scenario, options);
    std::error_code error;
    const auto place = std::filesystem::weakly_canonical(folder, error);
    if (places.insert(error ? folder : place).second) continue;
    throw UsageError(scenario.file.string() + ": another scenario of this call is named \"" +
                     scenario.first().name +
                     "\" too, or has the same folder; give one of them "
                     "another name");
  }
  return scenarios;
}

std::vector<std::size_t> runs_of_call(const Scenario& scenario, const RunPlan& plan,
                                      const RunOptions& options) {
  if (options.shard) return runs_of(*options.shard, plan.work_of_runs(scenario));
  return all_runs(scenario);
}

}  // namespace gradrace
