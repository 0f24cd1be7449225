#include "models/datasets/row_entries.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace gradrace {
namespace {

using kernels::entries_at_once;

/// Rows with a number at every step-th place, each of another value, and one row of zeros.
std::vector<std::uint8_t> rows_with_a_number_every(std::size_t step, std::size_t features) {
  std::vector<std::uint8_t> numbers(3 * features);
  for (std::size_t row = 0; row < 2; ++row)
    for (std::size_t place = row; place < features; place += step)
      numbers[2 * row * features + place] = static_cast<std::uint8_t>(1 + place % 255);
  return numbers;
}

std::vector<std::uint8_t> numbers_of(const RowEntries& entries, std::size_t features) {
  std::vector<std::uint8_t> numbers;
  for (std::size_t row = 0; row + 1 < entries.begin.size(); ++row) {
    std::vector<std::uint8_t> of_row(features);
    std::size_t place = 0;
    for (std::size_t four = entries.begin[row]; four < entries.begin[row + 1]; ++four) {
      for (std::size_t i = 0; i < entries_at_once; ++i) {
        const auto entry = entries.bytes.at(four).word >> 16 * i & 0xffff;
        place += entry >> 8;
        const auto byte = static_cast<std::uint8_t>(entry & 255);
        if (byte != 0) of_row.at(place) = byte;
        CHECK(place < features);
      }
    }
    numbers.insert(numbers.end(), of_row.begin(), of_row.end());
  }
  return numbers;
}

}  // namespace

TEST_CASE("row entries: bytes come back, however far apart") {
  for (const std::size_t features : {1u, 7u, 8u, 300u, 784u, 5000u})
    for (const std::size_t step : {1u, 3u, 247u, 248u, 255u, 256u, 263u, 511u, 1000u, 4999u}) {
      CAPTURE(features);
      CAPTURE(step);
      const auto numbers = rows_with_a_number_every(step, features);
      CHECK(numbers_of(row_entries(numbers, features, zeros_of(numbers)), features) == numbers);
    }
}

TEST_CASE("row entries: a row of floats ends with numbers 0 at its last place") {
  const std::vector<float> numbers{0, 2, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0};
  const RowEntries entries = row_entries(numbers, 4, zeros_of(numbers));
  REQUIRE(entries.begin == std::vector<std::uint64_t>{0, 1, 2, 2});
  const auto& first = entries.floats[0];
  const auto& second = entries.floats[1];
  for (std::size_t i = 0; i < entries_at_once; ++i) {
    CHECK(first.places[i] == 1);
    CHECK(first.x[i] == (i == 0 ? 2 : 0));
    CHECK(second.places[i] == i);
    CHECK(second.x[i] == 5 + static_cast<float>(i));
  }
}

TEST_CASE("row entries: of listed numbers they are those of all numbers") {
  const std::vector<float> numbers{0, 2, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0};
  ListedNumbers listed;
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::uint32_t place = 0; place < 4; ++place)
      if (const float x = numbers[4 * row + place]; x != 0 || place == 2) {
        listed.places.push_back(place);
        listed.x.push_back(x);
      }
    listed.end_row();
  }
  const RowEntries all = row_entries(numbers, 4, zeros_of(numbers)), entries = row_entries(listed);
  CHECK(entries.begin == all.begin);
  REQUIRE(entries.floats.size() == all.floats.size());
  for (std::size_t i = 0; i < all.floats.size(); ++i) {
    CHECK(std::ranges::equal(entries.floats[i].places, all.floats[i].places));
    CHECK(std::ranges::equal(entries.floats[i].x, all.floats[i].x));
  }
}

}  // namespace gradrace
