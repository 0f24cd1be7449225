#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/cpu/aligned.h"
#include "models/cpu/gathered_labels.h"
#include "models/cpu/kernels/kernels.h"
#include "models/datasets/dataset.h"

namespace gradrace {

/// Training rows, as kernels of few outputs look at them.
class GroupedMinibatch {
 public:
  explicit GroupedMinibatch(const Dataset& data) : data_(data), places_(group_places(data).count) {}

  /// Groups all rows, which the first call does otherwise.
  void prepare() { groups(); }

  void gather(std::span<const std::uint32_t> rows);

  /// Products with the rows gathered last fetch these meanwhile.
  void expect(std::span<const std::uint32_t> rows);

  /// How many of these rows, the first ones, stay in the second cache between two products; at
  /// least one.
  std::size_t at_once(std::span<const std::uint32_t> rows);

  /// Of the last call.
  const kernels::InputGroups& x() const { return x_; }
  kernels::RowLabels labels() const { return labels_.labels(); }

 private:
  const GroupedRows& groups();
  kernels::Soon soon_of(std::uint32_t row);

  const Dataset& data_;
  const std::size_t places_;  // of a row of all groups
  const GroupedRows* grouped_ = nullptr;
  kernels::InputGroups x_;
  std::vector<const kernels::ByteGroup*> bytes_;
  std::vector<const kernels::FloatGroup*> floats_;
  std::vector<std::uint32_t> counts_;
  std::vector<const void*> next_;
  Aligned<float> sums_;
  std::vector<std::uint64_t> rows_of_;
  std::vector<kernels::Soon> soon_;
  GatheredLabels labels_;
};

}  // namespace gradrace
