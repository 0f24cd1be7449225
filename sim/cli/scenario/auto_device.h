#pragma once

#include <functional>
#include <string>

#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// Why only the CPU computes the gradients of a point that trains; empty: a GPU may.
std::string only_cpu(const Point& point);

/// Why there is no GPU here; empty if there is one.  Asked where it matters alone, as an answer may
/// take a good part of a second.
using NoGpu = std::function<std::string()>;

/// Puts the device in the place of `auto`: a GPU where there is one and it is the faster one for
/// the runs of every point that trains (models/device_choice.h), which takes their data; else the
/// CPU. That runs are of a shard or are there already changes nothing.
void settle_device(Scenario& scenario, const NoGpu& no_gpu);

/// Why a GPU would be the faster one for the runs that train on the CPU; empty where it would not.
std::string why_gpu(const Scenario& scenario);

/// "auto, since ..." of a scenario that leaves its device open; empty of others.
std::string why_device(const Scenario& scenario, const NoGpu& no_gpu);

}  // namespace gradrace
