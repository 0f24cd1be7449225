#pragma once

#include <memory>
#include <string>

#include "models/model/model.h"
#include "sim/device.h"

namespace gradrace {

/// Why there is no CUDA device here; empty if there is one.
std::string no_cuda_device();

/// Begins to make what the first use of the device waits for, its context, and returns at once;
/// nothing where there is no device.  Comes before any other use.
void prepare_cuda();

/// Replays tapes on the first CUDA device, as BlockDevice does.
template <class Real>
std::unique_ptr<Device> make_cuda_device(std::unique_ptr<Model<Real>> model,
                                         const DeviceOptions& options);

}  // namespace gradrace
