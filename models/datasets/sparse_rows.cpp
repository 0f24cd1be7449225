#include "models/datasets/sparse_rows.h"

#include <memory>

#include "models/datasets/dataset.h"

namespace gradrace {

static std::size_t zeros_of(const Rows& rows) {
  return zeros_of(rows.bytes) + zeros_of(rows.floats);
}

static RowEntries entries_of(const Rows& rows, std::size_t features, std::size_t zeros) {
  return rows.floats.empty() ? row_entries(rows.bytes, features, zeros)
                             : row_entries(rows.floats, features, zeros);
}

static std::unique_ptr<const SparseRows> made_of(const Dataset& data) {
  if (!data.train.listed.empty())
    return std::make_unique<const SparseRows>(
        SparseRows{row_entries(data.train.listed), row_entries(data.test.listed)});
  const std::size_t features = data.features, zeros = zeros_of(data.train);
  const double density =
      1 - static_cast<double>(zeros) / static_cast<double>(data.train.count * features);
  if (density > most_dense || features > kernels::most_places) return nullptr;
  return std::make_unique<const SparseRows>(
      SparseRows{entries_of(data.train, features, zeros),
                 entries_of(data.test, features, zeros_of(data.test))});
}

const SparseRows* sparse_rows(const Dataset& data) {
  return data.sparse.get([&] { return made_of(data); });
}

}  // namespace gradrace
