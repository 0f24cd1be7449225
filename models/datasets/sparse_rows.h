#pragma once

#include "models/datasets/row_entries.h"

namespace gradrace {

struct Dataset;

/// Of both splits.
struct SparseRows {
  RowEntries train, test;
};

/// Share of the training rows' numbers that are not 0 up to which products of entries are faster.
inline constexpr double most_dense = 0.4;

/// Null where products of all numbers are faster.
const SparseRows* sparse_rows(const Dataset& data);

}  // namespace gradrace
