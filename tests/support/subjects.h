#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/model_checks.h"
#include "tests/support/places.h"

namespace gradrace {

/// A model on some data.
struct Subject {
  std::string name;
  std::function<std::unique_ptr<Model<float>>()> fast;
  std::function<std::unique_ptr<Model<double>>()> exact;

  /// Its runs start there.
  std::unique_ptr<Device> on(const Place& place, const Vector& start) const;
};

Subject quadratic(std::uint64_t dimensions, double noise);

/// Every model; no size is a multiple of a tile.
std::vector<Subject> subjects();

/// Those whose products are three of TF32; not on the CPU.
std::vector<Subject> by_three_products();

/// The net of CIFAR-10 on images of its size, of which a device that is emulated does few.
Subject full_size();

}  // namespace gradrace
