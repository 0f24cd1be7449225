#pragma once

#include <memory>
#include <vector>

#include "models/model.h"
#include "models/replay/lowering.h"
#include "sim/device.h"

namespace gradrace {

/// Replays tapes on the CPU, gradient by gradient, from snapshots of the values that are still
/// needed.  The order changes no number; the late one holds a single gradient unless one is used
/// twice.
template <class Real>
std::unique_ptr<Device> make_cpu_device(std::unique_ptr<Model<Real>> model,
                                        Order order = Order::late);

/// The same numbers with a thread for each of the models, which are equal: gradients that are ready
/// at the same time are computed side by side, and wait for their updates: two for a thread, and no
/// more than fit into 256 MiB.
template <class Real>
std::unique_ptr<Device> make_cpu_device(std::vector<std::unique_ptr<Model<Real>>> models);

}  // namespace gradrace
