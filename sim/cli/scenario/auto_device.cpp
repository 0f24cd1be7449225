#include "sim/cli/scenario/auto_device.h"

#include <algorithm>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "models/datasets/shelf.h"
#include "models/device_choice.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

/// Those that train.
std::vector<const Point*> trained(const Scenario& scenario) {
  std::vector<const Point*> points;
  for (const Point& point : scenario.points)
    if (point.with_model()) points.push_back(&point);
  return points;
}

bool leaves_open(const Scenario& scenario) {
  return scenario.first().device == "auto" &&
         std::ranges::any_of(scenario.points, &Point::with_model);
}

std::uint32_t least_minibatch(const Point& point) {
  const Race race = point.race();
  const auto size = [](const Plan& plan) { return plan.minibatch.least(); };
  return size(std::ranges::min(race.plans, {}, size));
}

/// Of points that one device can compute side by side.
DeviceChoice choice_for(const std::vector<const Point*>& points, std::uint32_t replicas) {
  for (const Point* point : points)
    if (const std::string why = only_cpu(*point); !why.empty())
      return {false, why};
    else if (!point->make_protocol().has_server())
      return {false, "protocols without a server were not measured on a GPU"};
  const ModelSpec& model = *points.front()->model;
  const Blueprint blueprint = model.make_float32()->blueprint();
  std::uint32_t learners = 0, minibatch = least_minibatch(*points.front());
  for (const Point* point : points) {
    learners = std::max(learners, point->cluster.learners);
    minibatch = std::min(minibatch, least_minibatch(*point));
  }
  return choose_device(
      {blueprint, model.precision(), learners, minibatch, points.size() * replicas});
}

/// The CPU where one of them needs it.
DeviceChoice choice_for(const Scenario& scenario) {
  const std::vector<const Point*> points = trained(scenario);
  std::map<std::string, std::vector<const Point*>> groups;
  for (const Point* point : points) groups[point->device_text].push_back(point);
  DeviceChoice choice{false, "the data cannot be read"};
  for (const auto& [text, group] : groups) {
    try {
      choice = choice_for(group, scenario.replicas());
    } catch (const MissingData&) {
      throw;
    } catch (const std::runtime_error&) {
      continue;  // its runs say so
    } catch (const std::bad_alloc&) {
      continue;
    }
    if (!choice.is_gpu) break;
  }
  return choice;
}

std::string with_gpu(const std::string& text) {
  Json scenario = Json::parse(text);
  scenario["device"] = "cuda";
  return scenario.dump(2);
}

}  // namespace

std::string only_cpu(const Point& point) {
  if (point.with_compression()) return "messages of compression were not measured on a GPU";
  if (point.local_steps() > 1) return "steps of learners at a server were not measured on a GPU";
  if (point.first_plan.rule.delay) return "only the CPU makes delay_compensation";
  if (point.make_protocol()->traits().in_python)
    return "protocols in Python were not measured on a GPU";
  if (point.versions() > 1) return "only the CPU moves ranges of a model (cluster.server.versions)";
  return point.model->has_shards() ? "only the CPU draws each learner's rows of dataset.partition"
                                   : "";
}

void settle_device(Scenario& scenario, const NoGpu& no_gpu) {
  if (!leaves_open(scenario) || !no_gpu().empty()) return;
  const DeviceChoice choice = choice_for(scenario);
  scenario.device_reason = "auto, since " + choice.why;
  if (!choice.is_gpu) return;
  for (Point& point : scenario.points) {
    if (!point.with_model()) continue;
    point.device = "cuda";
    point.key = on_gpu(point.key);
  }
  scenario.resolved = with_gpu(scenario.resolved);
}

std::string why_gpu(const Scenario& scenario) {
  const bool on_cpu = std::ranges::any_of(scenario.points, [](const Point& point) {
    return point.with_model() && point.device != "cuda";
  });
  if (!on_cpu) return "";
  const DeviceChoice choice = choice_for(scenario);
  return choice.is_gpu ? choice.why : "";
}

std::string why_device(const Scenario& scenario, const NoGpu& no_gpu) {
  if (!scenario.device_reason.empty() || !leaves_open(scenario)) return scenario.device_reason;
  return "auto, since " + no_gpu();
}

}  // namespace gradrace
