#pragma once

#include <memory>

#include "models/model.h"
#include "sim/device.h"

namespace gradrace {

/// Replays tapes on the CPU, gradient by gradient, from snapshots of the values that are still
/// needed.
template <class Real>
std::unique_ptr<Device> make_cpu_device(std::unique_ptr<Model<Real>> model);

}  // namespace gradrace
