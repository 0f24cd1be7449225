#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/cpu/aligned.h"
#include "models/cpu/gathered_labels.h"
#include "models/cpu/kernels/kernels.h"
#include "models/datasets/dataset.h"

namespace gradrace {

/// Some rows of a data set, as kernels look at them: entries where they are few, else all numbers.
class DenseRows {
 public:
  DenseRows(const Dataset& data, const kernels::Kernels& kernels);

  /// Makes the entries of all rows, which the first call does otherwise.
  void prepare() { sparse(); }

  void gather(std::span<const std::uint32_t> rows, bool test = false);

  /// Products with the rows gathered last fetch these meanwhile.
  void expect(std::span<const std::uint32_t> rows, bool test = false);

  /// How many of these training rows, the first ones, stay in the second cache together with the
  /// next ones, from one product to the next; at least one.
  std::size_t at_once(std::span<const std::uint32_t> rows);

  /// Of the last call.
  const kernels::InputRows& x() const { return x_; }
  kernels::RowLabels labels() const { return labels_.labels(); }

 private:
  /// Null: all numbers.
  const SparseRows* sparse();
  kernels::Soon soon_of_row(bool test, std::size_t row);
  void gather_entries(const RowEntries& split, std::span<const std::uint32_t> rows);
  void gather_numbers(const Rows& split, std::span<const std::uint32_t> rows);

  const Dataset& data_;
  const kernels::Kernels& kernels_;
  std::optional<const SparseRows*> sparse_;
  kernels::InputRows x_;
  std::vector<const kernels::FourBytes*> bytes_;
  std::vector<const kernels::FourFloats*> floats_;
  std::vector<std::uint32_t> counts_, ends_;
  std::vector<kernels::Reached> reached_;
  std::vector<kernels::TurnedEntry> turned_;
  std::vector<kernels::Soon> soon_;
  std::vector<float> of_byte_;
  Aligned<float> numbers_;
  GatheredLabels labels_;
};

}  // namespace gradrace
