#pragma once

#include <memory>

#include "models/model/model.h"

namespace gradrace {

/// A device of one's own, one for each thread.  Reads the data.  std::runtime_error where the
/// device is not to be had.
std::unique_ptr<Device> make_device(const ModelSpec& model, const DeviceOptions& options);

}  // namespace gradrace
