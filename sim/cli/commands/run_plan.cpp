#include "sim/cli/commands/run_plan.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "models/datasets/shelf.h"
#include "sim/cli/scenario/compression.h"
#include "sim/cli/scenario/run_work.h"

namespace gradrace {

namespace {

/// What its device needs for the point's runs too.
void enlarge(DeviceOptions& options, const Point& point, const Race& race) {
  options.device = point.device;
  options.rows = point.rows;
  options.learners = std::max(options.learners, race.learners);
  options.averages = options.averages || !race.make_protocol().has_server() || race.local_steps > 1;
  for (const Plan& plan : race.plans) {
    options.minibatch = std::max(options.minibatch, plan.minibatch.greatest());
    options.rules.push_back(plan.rule);
    options.messages = options.messages || plan.message.compressor;
  }
}

/// Reads the data; MissingData where they are not there.
void read_value(RunPlan::Group& group, const Point& point) {
  try {
    group.memory = memory_of_model(point);
  } catch (const MissingData&) {
    throw;
  } catch (const std::runtime_error& error) {
    group.obstacle = error.what();
    group.is_unreadable = true;
  }
}

/// What theory says of points, for so many seconds.
class TheoryTime {
 public:
  explicit TheoryTime(double patience) : patience_(patience) {}

  Theory theory_of(const Point& point) {
    constexpr std::uint64_t no_budget = 0;
    if (seconds_ > patience_) {
      ++left_out_;
      return point.theory(no_budget);
    }
    const auto begin = Clock::now();
    Theory theory = point.theory();
    seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
    ++told_;
    return theory;
  }

  /// That the others would take.
  double seconds_left_out() const { return left_out_ > 0 ? left_out_ * seconds_ / told_ : 0; }

 private:
  using Clock = std::chrono::steady_clock;

  const double patience_;
  double seconds_ = 0, told_ = 0, left_out_ = 0;  // points
};

/// Theory, work and group of the next point.
void add_point(RunPlan& plan, const Scenario& scenario, const Point& point, std::size_t number,
               bool is_new, const MemoryCheck& check, TheoryTime& time) {
  RunPlan::Group& group = plan.groups[number];
  plan.group_of.push_back(number);
  Theory& theory = plan.theories.emplace_back();
  double& work = plan.work.emplace_back(0);
  try {
    if (is_new) check.check_data(point);
    if (is_new && point.with_model()) read_value(group, point);
    if (!group.obstacle.empty()) return;
    const Race race = point.race();
    check.check_runs(point, race, group.memory);
    check_sent(scenario, point);
    if (point.with_model()) enlarge(group.options, point, race);
    theory = time.theory_of(point);
    work = run_work(point, race, theory, group.memory.value.numbers);
  } catch (const std::bad_alloc&) {
    group.obstacle = "out of memory";
  }
}

}  // namespace

std::vector<double> RunPlan::work_of_runs(const Scenario& scenario) const {
  std::vector<double> of_runs;
  for (const double of_point : work) of_runs.insert(of_runs.end(), scenario.replicas(), of_point);
  return of_runs;
}

RunPlan plan_of(const Scenario& scenario, std::size_t jobs, const TellStep& tell, double patience) {
  RunPlan plan;
  TheoryTime time(patience);
  const MemoryCheck check(scenario, jobs);
  std::unordered_map<std::string, std::size_t> numbers;  // [device_text]: of the group
  for (const Point& point : scenario.points) {
    const auto [found, is_new] = numbers.try_emplace(point.device_text, plan.groups.size());
    if (is_new) plan.groups.emplace_back();
    if (tell) tell("theory and data", plan.theories.size(), scenario.points.size());
    add_point(plan, scenario, point, found->second, is_new, check, time);
  }
  plan.seconds_left_out = time.seconds_left_out();
  if (std::ranges::all_of(plan.groups, &RunPlan::Group::is_unreadable))
    throw std::runtime_error(plan.groups.front().obstacle);
  return plan;
}

}  // namespace gradrace
