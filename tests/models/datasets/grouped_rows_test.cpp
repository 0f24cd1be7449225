#include "models/datasets/grouped_rows.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "models/datasets/dataset.h"

namespace gradrace {
namespace {

using kernels::lane_count;

/// Rows of bytes, most of them 0, and one row of zeros.
Dataset sparse_bytes(std::size_t features) {
  Dataset data;
  data.features = features;
  data.train.count = 3;
  data.train.bytes.resize(3 * features);
  for (std::size_t k = 0; k < features; k += 37)
    data.train.bytes[k] = static_cast<std::uint8_t>(1 + k % 255);
  for (std::size_t k = 5; k < features; k += 3) data.train.bytes[2 * features + k] = 7;
  return data;
}

template <class Number, class Groups>
void check_rows(const Dataset& data, const Groups& groups, const std::vector<Number>& numbers) {
  const GroupPlaces places = group_places(data);
  const GroupedRows& grouped = grouped_rows(data);
  const std::size_t features = places.of_feature.size();
  REQUIRE(places.count % lane_count == 0);
  REQUIRE(grouped.begin.size() == numbers.size() / features + 1);
  CHECK(grouped.begin.back() == groups.size());
  CHECK(std::set(places.of_feature.begin(), places.of_feature.end()).size() == features);
  for (std::size_t row = 0; row + 1 < grouped.begin.size(); ++row) {
    std::vector<Number> placed(places.count), back(features);
    std::size_t next = 0;  // place of a group
    for (std::uint64_t g = grouped.begin[row]; g < grouped.begin[row + 1]; ++g) {
      CHECK(groups[g].place >= next);
      next = groups[g].place + lane_count;
      bool has_number = false;
      for (std::size_t i = 0; i < lane_count; ++i) {
        placed.at(groups[g].place + i) = groups[g].x[i];
        has_number = has_number || groups[g].x[i] != 0;
      }
      CHECK(has_number);
    }
    std::size_t not_zero = 0;
    for (std::size_t k = 0; k < features; ++k) {
      back[k] = placed.at(places.of_feature[k]);
      not_zero += back[k] != 0;
    }
    CHECK(std::equal(back.begin(), back.end(),
                     numbers.begin() + static_cast<std::ptrdiff_t>(row * features)));
    // Padding is 0.
    CHECK(placed.size() - static_cast<std::size_t>(std::ranges::count(placed, 0)) == not_zero);
  }
}

}  // namespace

TEST_CASE("grouped rows: numbers come back, without the groups that are all 0") {
  for (const std::size_t features : {1u, 15u, 16u, 17u, 100u, 784u}) {
    CAPTURE(features);
    Dataset data = sparse_bytes(features);
    const std::vector<std::uint8_t> bytes(data.train.bytes.begin(), data.train.bytes.end());
    check_rows(data, grouped_rows(data).bytes, bytes);
    data.train.floats.assign(bytes.begin(), bytes.end());
    data.train.bytes.clear();
    const Dataset floats = data;  // which makes its own
    check_rows(floats, grouped_rows(floats).floats, floats.train.floats);
  }
}

TEST_CASE("grouped rows: a group of an image is a square of 4 x 4") {
  for (const ImageShape& image : {ImageShape{1, 28, 28}, {3, 8, 12}, {2, 23, 30}}) {
    Dataset data = sparse_bytes(image.numbers());
    data.image = image;
    const std::vector<std::uint8_t> bytes(data.train.bytes.begin(), data.train.bytes.end());
    check_rows(data, grouped_rows(data).bytes, bytes);
    const auto place_of = group_places(data).of_feature;
    for (std::size_t k = 0; k < image.numbers(); ++k) {
      const std::size_t row = k / image.width, i = row % image.height, j = k % image.width;
      const std::size_t same = k - i % 4 * image.width - j % 4;  // the first of its square
      CHECK(place_of[k] == place_of[same] + i % 4 * 4 + j % 4);
      CHECK(place_of[same] % lane_count == 0);
    }
  }
}

TEST_CASE("grouped rows: images that squares would pad by more than a quarter are in rows") {
  for (const ImageShape& image : {ImageShape{1, 1, 784}, {784, 1, 1}, {3, 9, 6}}) {
    Dataset data = sparse_bytes(image.numbers());
    data.image = image;
    const auto place_of = group_places(data).of_feature;
    for (std::size_t k = 0; k < image.numbers(); ++k) CHECK(place_of[k] == k);
  }
}

TEST_CASE("grouped rows: they pay where a group has half as many numbers as there are outputs") {
  Dataset data = sparse_bytes(160);
  for (std::size_t k = 0; k < 3 * 160; ++k) data.train.bytes[k] = k % 16 < 5 && k < 320;
  CHECK(groups_pay(data, 10));
  CHECK(!groups_pay(data, 11));
  Dataset zeros = data;
  zeros.train.bytes.assign(3 * 160, 0);
  CHECK(groups_pay(zeros, 1));
  CHECK(!groups_pay(zeros, 2));
}

TEST_CASE("grouped rows: the first 1,000 rows decide whether they pay") {
  Dataset data;
  data.features = 16;
  data.train.count = 2'000;
  data.train.bytes.assign(2'000 * 16, 1);
  // 16 numbers in the first group, one in those up to row 999, 16 in the others.
  for (std::size_t k = 16; k < 1'000 * 16; ++k) data.train.bytes[k] = k % 16 == 3;
  CHECK(group_places(data).numbers == (16.0 + 999) / 1'000);
  CHECK(groups_pay(data, 2));
  CHECK(!groups_pay(data, 3));
}

}  // namespace gradrace
