#pragma once

#include <memory>
#include <mutex>

#include "models/datasets/row_entries.h"

namespace gradrace {

struct Dataset;

/// Of both splits.
struct SparseRows {
  RowEntries train, test;
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
