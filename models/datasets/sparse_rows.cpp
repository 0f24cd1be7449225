#include "models/datasets/sparse_rows.h"

#include <algorithm>
#include <cstdint>

#include "models/datasets/dataset.h"

namespace gradrace {

namespace {

/// Of the training rows' numbers that are not 0.
double density(const Dataset& data) {
  const Rows& rows = data.train;
  const auto zeros = std::ranges::count(rows.bytes, 0) + std::ranges::count(rows.floats, 0.0f);
  return 1 - static_cast<double>(zeros) / static_cast<double>(rows.count * data.features);
}

template <class Numbers, class Entry, class Make>
void add_entries(const Numbers& numbers, std::size_t features, SparseSplit& split,
                 LargeVector<Entry>& entries, const Make& make) {
  if (numbers.empty()) return;
  const auto zeros = static_cast<std::size_t>(std::ranges::count(numbers, 0));
  entries.resize(numbers.size() - zeros + 1);
  std::size_t count = 0;
  for (std::size_t row = 0; row < numbers.size(); row += features) {
    split.begin.push_back(count);
    for (std::size_t place = 0; place < features; ++place) {
      entries[count] = make(static_cast<std::uint32_t>(place), numbers[row + place]);
      count += numbers[row + place] != 0;
    }
  }
  split.begin.push_back(count);
  entries.pop_back();  // what stood beyond the last
}

SparseSplit sparse(const Rows& rows, std::size_t features) {
  SparseSplit split;
  add_entries(rows.bytes, features, split, split.bytes, [](std::uint32_t place, std::uint8_t byte) {
    return kernels::ByteEntry{place << 8 | byte};
  });
  add_entries(rows.floats, features, split, split.floats, [](std::uint32_t place, float x) {
    return kernels::FloatEntry{place, x};
  });
  return split;
}

}  // namespace

const SparseRows* SparseOnce::of(const Dataset& data) const {
  std::call_once(once_, [&] {
    if (data.features > kernels::ByteEntry::most_places || density(data) > most_dense) return;
    rows_ = std::make_unique<const SparseRows>(
        SparseRows{sparse(data.train, data.features), sparse(data.test, data.features)});
  });
  return rows_.get();
}

}  // namespace gradrace
