#include "models/datasets/row_entries.h"

#include <algorithm>
#include <cstring>

namespace gradrace {

namespace {

using kernels::entries_at_once;
using kernels::FourBytes;
using kernels::FourFloats;
using kernels::most_distance;

constexpr std::size_t bytes_at_once = 8;

bool are_zero(const std::uint8_t* bytes, std::size_t count) {
  if (count < bytes_at_once)
    return std::all_of(bytes, bytes + count, [](std::uint8_t byte) { return byte == 0; });
  std::uint64_t all;
  std::memcpy(&all, bytes, bytes_at_once);
  return all == 0;
}

/// Of a row of so many numbers that are not 0.
constexpr std::size_t most_entries(std::size_t not_zero, std::size_t features) {
  return not_zero + features / (most_distance - bytes_at_once) + entries_at_once;
}

/// The entries of a row, the last four padded with zeros; returns how many.
std::size_t put_entries(const std::uint8_t* row, std::size_t features, std::uint16_t* entries) {
  std::size_t count = 0, last = 0;
  for (std::size_t first = 0; first < features; first += bytes_at_once) {
    const std::size_t end = std::min(first + bytes_at_once, features);
    if (are_zero(row + first, end - first)) continue;
    while (end - last > most_distance) {
      const std::size_t distance = std::min(first - last, most_distance);
      entries[count++] = static_cast<std::uint16_t>(distance << 8);
      last += distance;
    }
    for (std::size_t place = first; place < end; ++place) {  // without branches
      entries[count] = static_cast<std::uint16_t>((place - last) << 8 | row[place]);
      count += row[place] != 0;
      last = row[place] != 0 ? place : last;
    }
  }
  while (count % entries_at_once != 0) entries[count++] = 0;
  return count;
}

FourBytes four_of(const std::uint16_t* entries) {
  std::uint64_t word = 0;
  for (std::size_t i = entries_at_once; i-- > 0;) word = word << 16 | entries[i];
  return {word};
}

}  // namespace

RowEntries row_entries(std::span<const std::uint8_t> numbers, std::size_t features,
                       std::size_t zeros) {
  RowEntries made;
  const std::size_t rows = numbers.size() / features;
  made.bytes.reserve((numbers.size() - zeros + rows * most_entries(0, features)) / entries_at_once);
  std::vector<std::uint16_t> entries(most_entries(features, features));
  made.begin.push_back(0);
  for (std::size_t row = 0; row < numbers.size(); row += features) {
    const std::size_t count = put_entries(numbers.data() + row, features, entries.data());
    for (std::size_t i = 0; i < count; i += entries_at_once)
      made.bytes.push_back(four_of(entries.data() + i));
    made.begin.push_back(made.bytes.size());
  }
  return made;
}

namespace {

/// Puts the floats of rows into fours.
class Fours {
 public:
  explicit Fours(RowEntries& made) : made_(made) { made.begin.push_back(0); }

  void add(std::size_t place, float number) {
    if (number == 0) return;
    const auto at = static_cast<std::uint32_t>(place);
    if (count_ % entries_at_once == 0) made_.floats.push_back({});
    FourFloats& four = made_.floats.back();
    for (std::size_t i = count_ % entries_at_once; i < entries_at_once; ++i) four.places[i] = at;
    four.x[count_++ % entries_at_once] = number;
  }
  void end_row() {
    made_.begin.push_back(made_.floats.size());
    count_ = 0;
  }

 private:
  RowEntries& made_;
  std::size_t count_ = 0;  // of the row
};

}  // namespace

RowEntries row_entries(std::span<const float> numbers, std::size_t features, std::size_t zeros) {
  RowEntries made;
  made.floats.reserve((numbers.size() - zeros) / entries_at_once + numbers.size() / features);
  Fours fours(made);
  for (std::size_t row = 0; row < numbers.size(); row += features) {
    for (std::size_t place = 0; place < features; ++place) fours.add(place, numbers[row + place]);
    fours.end_row();
  }
  return made;
}

RowEntries row_entries(const ListedNumbers& numbers) {
  RowEntries made;
  made.floats.reserve(numbers.x.size() / entries_at_once + numbers.rows());
  Fours fours(made);
  for (std::size_t row = 0; row < numbers.rows(); ++row) {
    numbers.each_of(row, [&](std::uint32_t place, float number) { fours.add(place, number); });
    fours.end_row();
  }
  return made;
}

}  // namespace gradrace
