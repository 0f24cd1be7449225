#pragma once

#include <memory>
#include <string>

#include "models/model.h"
#include "sim/device.h"

namespace gradrace {

/// Replays tapes on the CPU, gradient by gradient, from snapshots of the values that are still
/// needed.
template <class Real>
std::unique_ptr<Device> make_cpu_device(std::unique_ptr<Model<Real>> model);

/// Does nothing for "auto" and "cpu"; std::runtime_error says why another device is not to be had.
void require_cpu(const std::string& device);

}  // namespace gradrace
