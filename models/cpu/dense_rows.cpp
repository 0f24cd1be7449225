#include "models/cpu/dense_rows.h"

#include <algorithm>

namespace gradrace {

DenseRows::DenseRows(const Dataset& data, const kernels::Kernels& kernels)
    : data_(data), kernels_(kernels) {
  for (int byte = 0; byte < 256; ++byte)
    of_byte_.push_back(static_cast<float>(byte) * data.byte_scale);
}

const SparseRows* DenseRows::sparse() {
  if (!sparse_) sparse_ = sparse_rows(data_);
  return *sparse_;
}

std::size_t DenseRows::at_once(std::span<const std::uint32_t> rows) {
  constexpr std::size_t most_rows = 128;           // of all numbers
  constexpr std::uint64_t most_entries = 1 << 16;  // turned round
  if (sparse() == nullptr) return std::min(most_rows, rows.size());
  if (rows.size() * data_.features <= most_entries) return rows.size();
  const auto& begin = sparse()->train.begin;
  std::size_t n = 0;
  for (std::uint64_t left = most_entries / kernels::entries_at_once; n < rows.size(); ++n) {
    const std::uint64_t fours = begin[rows[n] + 1] - begin[rows[n]];
    if (n > 0 && fours > left) break;
    left -= std::min(left, fours);
  }
  return n;
}

/// Where numbers [begin, end) are.
template <class Number, class Memory>
static kernels::Soon soon_of(const std::vector<Number, Memory>& numbers, std::size_t begin,
                             std::size_t end) {
  return {reinterpret_cast<const char*>(numbers.data() + begin), (end - begin) * sizeof(Number)};
}

/// Of a split, whose numbers are bytes or floats.
template <class Split>
static kernels::Soon soon_of(const Split& split, std::size_t begin, std::size_t end) {
  return split.bytes.empty() ? soon_of(split.floats, begin, end) : soon_of(split.bytes, begin, end);
}

void DenseRows::gather(std::span<const std::uint32_t> rows, bool test) {
  const Rows& split = test ? data_.test : data_.train;
  x_ = {.n = rows.size(), .inputs = data_.features};
  if (sparse() != nullptr)
    gather_entries(test ? sparse()->test : sparse()->train, rows);
  else
    gather_numbers(split, rows);
  labels_.gather(split, rows);
}

void DenseRows::gather_entries(const RowEntries& split, std::span<const std::uint32_t> rows) {
  const bool bytes = !split.bytes.empty() || split.floats.empty();
  bytes_.resize(rows.size()), floats_.resize(rows.size());
  counts_.resize(rows.size()), reached_.resize(rows.size());
  std::size_t fours = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t begin = split.begin[rows[i]];
    counts_[i] = static_cast<std::uint32_t>(split.begin[rows[i] + 1] - begin);
    fours += counts_[i];
    if (bytes)
      bytes_[i] = split.bytes.data() + begin;
    else
      floats_[i] = split.floats.data() + begin;
  }
  x_.bytes = bytes ? bytes_.data() : nullptr;
  x_.floats = bytes ? nullptr : floats_.data();
  x_.counts = counts_.data(), x_.reached = reached_.data();
  x_.of_byte = of_byte_.data();
  ends_.resize(data_.features);
  turned_.resize(std::max(turned_.size(), fours * kernels::entries_at_once));
  x_.turned = {ends_.data(), turned_.data()};
}

void DenseRows::expect(std::span<const std::uint32_t> rows, bool test) {
  soon_.clear();
  for (const std::size_t row : rows) soon_.push_back(soon_of_row(test, row));
  x_.soon = soon_;
}

kernels::Soon DenseRows::soon_of_row(bool test, std::size_t row) {
  if (sparse() == nullptr)
    return soon_of(test ? data_.test : data_.train, row * data_.features,
                   (row + 1) * data_.features);
  const RowEntries& split = test ? sparse()->test : sparse()->train;
  return soon_of(split, split.begin[row], split.begin[row + 1]);
}

void DenseRows::gather_numbers(const Rows& split, std::span<const std::uint32_t> rows) {
  const std::size_t features = data_.features;
  // gcc 12 lets the portable kernels read the numbers of a row past the last.
  numbers_.reserve((rows.size() + 1) * features + kernels::lane_count);
  numbers_.resize(rows.size() * features);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t from = rows[i] * features;
    float* const to = numbers_.data() + i * features;
    if (split.bytes.empty())
      std::copy_n(split.floats.data() + from, features, to);
    else
      kernels_.convert(split.bytes.data() + from, features, data_.byte_scale, to);
  }
  x_.dense = numbers_.data(), x_.stride = features;
}

}  // namespace gradrace
