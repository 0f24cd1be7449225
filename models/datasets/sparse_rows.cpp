#include "models/datasets/sparse_rows.h"

#include <algorithm>
#include <memory>

#include "models/datasets/dataset.h"

namespace gradrace {

static std::size_t zeros_of(const Rows& rows) {
  return static_cast<std::size_t>(std::ranges::count(rows.bytes, 0) +
                                  std::ranges::count(rows.floats, 0.0f));
}

static RowEntries entries_of(const Rows& rows, std::size_t features) {
  return rows.floats.empty() ? row_entries(rows.bytes, features)
                             : row_entries(rows.floats, features);
}

static std::unique_ptr<const SparseRows> made_of(const Dataset& data) {
  const std::size_t numbers = data.train.count * data.features;
  const double density =
      1 - static_cast<double>(zeros_of(data.train)) / static_cast<double>(numbers);
  if (density > most_dense || data.features > kernels::most_places) return nullptr;
  return std::make_unique<const SparseRows>(
      SparseRows{entries_of(data.train, data.features), entries_of(data.test, data.features)});
}

const SparseRows* sparse_rows(const Dataset& data) {
  return data.sparse.get([&] { return made_of(data); });
}

}  // namespace gradrace
