#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "models/cpu/crew.h"
#include "models/model/model.h"
#include "models/replay/lowering.h"
#include "sim/device.h"

namespace gradrace {

/// Replays tapes on the CPU, gradient by gradient, from snapshots of the values that are still
/// needed.  The order changes no number; the late one holds a single gradient unless one is used
/// twice.
template <class Real>
std::unique_ptr<Device> make_cpu_device(std::unique_ptr<Model<Real>> model,
                                        Order order = Order::late);

/// What a device and its crew are made of.
template <class Real>
struct CrewedModel {
  std::function<std::unique_ptr<Model<Real>>()> make;  // another equal model; from any thread
  Crew* crew = nullptr;
  std::size_t member = 0;  // the device's
};

/// The same numbers; while others of the crew help, gradients that are ready at the same time are
/// computed side by side, and wait for their updates: two for each who computes, and no more than
/// fit into 256 MiB; and so are evaluations of several values.
template <class Real>
std::unique_ptr<Device> make_cpu_device(const CrewedModel<Real>& crewed);

/// How many gradients it computes side by side, at most, of so many bytes and numbers; 0: none.
std::size_t gradients_ahead(std::size_t bytes, std::size_t numbers, std::uint32_t minibatch,
                            std::size_t helpers);

}  // namespace gradrace
