#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/cpu/kernels/kernels.h"
#include "models/datasets/dataset.h"

namespace gradrace {

/// What some rows are compared with.
class GatheredLabels {
 public:
  void gather(const Rows& split, std::span<const std::uint32_t> rows) {
    take(split.classes, rows, classes_);
    take(split.targets, rows, targets_);
  }
  /// Of the last call.
  kernels::RowLabels labels() const { return {classes_.data(), targets_.data()}; }

 private:
  template <class Label>
  static void take(const std::vector<Label>& of_split, std::span<const std::uint32_t> rows,
                   std::vector<Label>& labels) {
    labels.resize(of_split.empty() ? 0 : rows.size());
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = of_split[rows[i]];
  }

  std::vector<std::uint8_t> classes_;
  std::vector<float> targets_;
};

}  // namespace gradrace
