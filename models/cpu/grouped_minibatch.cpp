#include "models/cpu/grouped_minibatch.h"

namespace gradrace {

const GroupedRows& GroupedMinibatch::groups() {
  if (grouped_ == nullptr) {
    // Another thread groups them already: this one makes meanwhile what evaluations will want.
    if (data_.grouped.begun()) sparse_rows(data_);
    grouped_ = &grouped_rows(data_);
  }
  return *grouped_;
}

std::size_t GroupedMinibatch::at_once(std::span<const std::uint32_t> rows) {
  constexpr std::size_t most_bytes = std::size_t{1} << 18;
  if (rows.size() * places_ * sizeof(float) <= most_bytes) return rows.size();
  std::size_t n = 0;
  for (std::size_t bytes = 0; n < rows.size(); ++n) {
    bytes += soon_of(rows[n]).bytes;
    if (n > 0 && bytes > most_bytes) break;
  }
  return n;
}

void GroupedMinibatch::gather(std::span<const std::uint32_t> rows) {
  const std::size_t n = rows.size();
  const bool bytes = !data_.train.bytes.empty();
  const GroupedRows& all = groups();
  bytes_.resize(n), floats_.resize(n), counts_.resize(n), next_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t begin = all.begin[rows[i]];
    counts_[i] = static_cast<std::uint32_t>(all.begin[rows[i] + 1] - begin);
    if (bytes)
      bytes_[i] = all.bytes.data() + begin;
    else
      floats_[i] = all.floats.data() + begin;
  }
  rows_of_.resize(places_ / kernels::lane_count * kernels::words_of(n));
  sums_.resize(n * kernels::lane_count * kernels::lane_count);
  x_ = {.n = n,
        .places = places_,
        .bytes = bytes ? bytes_.data() : nullptr,
        .floats = floats_.data(),
        .counts = counts_.data(),
        .scale = data_.byte_scale,
        .rows_of = rows_of_.data(),
        .next = next_.data(),
        .sums = sums_.data()};
  labels_.gather(data_.train, rows);
}

void GroupedMinibatch::expect(std::span<const std::uint32_t> rows) {
  soon_.clear();
  for (const std::uint32_t row : rows) soon_.push_back(soon_of(row));
  x_.soon = soon_;
}

kernels::Soon GroupedMinibatch::soon_of(std::uint32_t row) {
  const GroupedRows& all = groups();
  const std::uint64_t begin = all.begin[row], count = all.begin[row + 1] - begin;
  if (!data_.train.bytes.empty())
    return {reinterpret_cast<const char*>(all.bytes.data() + begin),
            count * sizeof(kernels::ByteGroup)};
  return {reinterpret_cast<const char*>(all.floats.data() + begin),
          count * sizeof(kernels::FloatGroup)};
}

}  // namespace gradrace
