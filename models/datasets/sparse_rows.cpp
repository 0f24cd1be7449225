#include "models/datasets/sparse_rows.h"

#include <algorithm>

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

const SparseRows* SparseOnce::of(const Dataset& data) const {
  std::call_once(once_, [&] {
    const std::size_t numbers = data.train.count * data.features;
    const double density =
        1 - static_cast<double>(zeros_of(data.train)) / static_cast<double>(numbers);
    if (density > most_dense || data.features > kernels::most_places) return;
    rows_ = std::make_unique<const SparseRows>(
        SparseRows{entries_of(data.train, data.features), entries_of(data.test, data.features)});
  });
  return rows_.get();
}

}  // namespace gradrace
