#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "models/supervised.h"

namespace gradrace {

/// Caffe's "CIFAR10 full", the net `cifar10-full` of the model cnn; see the page in cnn.cpp.
/// Parameters as those of the other net.
template <class Real>
std::unique_ptr<Model<Real>> make_cifar10_full(const SupervisedConfig& config);

}  // namespace gradrace
