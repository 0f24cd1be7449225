#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "models/cpu/kernels/entries.h"
#include "sim/large_pages.h"

namespace gradrace {

struct Rows;
struct Dataset;

/// The numbers of a split that are not 0, row after row, in the order of their places.
struct SparseSplit {
  std::vector<std::uint64_t> begin;              // [rows + 1] of each row's entries
  LargeVector<kernels::ByteEntry> bytes = {};    // of features that are bytes
  LargeVector<kernels::FloatEntry> floats = {};  // of others
};

/// Of both splits.
struct SparseRows {
  SparseSplit train, test;
};

/// What is made of a data set when it is first asked for, once for all threads.  A copy of the data
/// set makes its own.
class SparseOnce {
 public:
  SparseOnce() = default;
  SparseOnce(const SparseOnce&) {}
  SparseOnce& operator=(const SparseOnce&) { return *this; }

  /// Null where so many of the training rows' numbers are not 0 that products of all are faster.
  const SparseRows* of(const Dataset& data) const;

  /// Share of numbers that are not 0 up to which entries are faster.
  static constexpr double most_dense = 0.4;

 private:
  mutable std::once_flag once_;
  mutable std::unique_ptr<const SparseRows> rows_;
};

}  // namespace gradrace
