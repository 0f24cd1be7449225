#include "models/datasets/grouped_rows.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>

#include "models/datasets/dataset.h"

namespace gradrace {

namespace {

using kernels::in_lanes;
using kernels::lane_count;

GroupPlaces neighbours(std::size_t features) {
  GroupPlaces places{.of_feature = std::vector<std::uint32_t>(features),
                     .count = in_lanes(features)};
  std::iota(places.of_feature.begin(), places.of_feature.end(), 0u);
  return places;
}

GroupPlaces squares(const ImageShape& image) {
  constexpr std::size_t side = 4;
  static_assert(side * side == lane_count);
  const auto along = [](std::size_t numbers) { return (numbers + side - 1) / side; };
  const std::size_t rows = along(image.height), columns = along(image.width);
  GroupPlaces places;
  for (std::size_t channel = 0; channel < image.channels; ++channel)
    for (std::size_t i = 0; i < image.height; ++i)
      for (std::size_t j = 0; j < image.width; ++j) {
        const std::size_t square = (channel * rows + i / side) * columns + j / side;
        const std::size_t place = square * lane_count + i % side * side + j % side;
        places.of_feature.push_back(static_cast<std::uint32_t>(place));
      }
  places.count = image.channels * rows * columns * lane_count;
  return places;
}

constexpr std::size_t at_once = 4;

/// Whether features can be placed so many at once.
bool stay_together(const std::vector<std::uint32_t>& place_of) {
  if (place_of.size() % at_once != 0) return false;
  for (std::size_t k = 0; k < place_of.size(); ++k)
    if (place_of[k] != place_of[k - k % at_once] + k % at_once) return false;
  return true;
}

template <std::size_t n, class Number>
void place(const Number* row, const std::vector<std::uint32_t>& place_of, Number* placed) {
  for (std::size_t k = 0; k < place_of.size(); k += n)
    std::copy_n(row + k, n, placed + place_of[k]);
}

template <class Number>
bool are_zero(const Number* group) {
  bool zero = true;
  for (std::size_t i = 0; i < lane_count; ++i) zero &= group[i] == 0;
  return zero;
}

/// use(place, its lane_count numbers) of every group of rows [rows, features] that is not all 0;
/// end_row() after those of a row.
template <class Number, class Use, class EndRow>
void each_group(const Number* row, std::size_t rows, const GroupPlaces& places, const Use& use,
                const EndRow& end_row) {
  const std::vector<std::uint32_t>& place_of = places.of_feature;
  const auto put = stay_together(place_of) ? place<at_once, Number> : place<1, Number>;
  std::vector<Number> placed(places.count);
  for (std::size_t r = 0; r < rows; ++r, row += place_of.size()) {
    put(row, place_of, placed.data());
    for (std::size_t at = 0; at < places.count; at += lane_count)
      if (!are_zero(placed.data() + at)) use(at, placed.data() + at);
    end_row();
  }
}

template <class Number, class Groups>
void put_groups(const Number* row, std::size_t rows, const GroupPlaces& places,
                std::vector<std::uint64_t>& begin, Groups& groups) {
  groups.reserve(rows * places.count / lane_count);
  begin.push_back(0);
  each_group(
      row, rows, places,
      [&](std::size_t place, const Number* numbers) {
        groups.push_back({static_cast<std::uint32_t>(place), {}});
        std::copy_n(numbers, lane_count, groups.back().x);
      },
      [&] { begin.push_back(groups.size()); });
}

template <class Number>
double numbers_in_a_group(const Number* row, std::size_t rows, const GroupPlaces& places) {
  std::size_t groups = 0, zeros = 0;
  each_group(
      row, rows, places,
      [&](std::size_t, const Number* numbers) {
        ++groups;
        zeros += zeros_of(std::span(numbers, lane_count));
      },
      [] {});
  return static_cast<double>(groups * lane_count - zeros) /
         std::max(1.0, static_cast<double>(groups));
}

GroupPlaces places_of(const Dataset& data) {
  GroupPlaces in_a_row = neighbours(data.features);
  if (!data.image) return in_a_row;
  GroupPlaces in_squares = squares(*data.image);
  constexpr double most_padding = 0.25;
  const bool few = static_cast<double>(in_squares.count) <=
                   (1 + most_padding) * static_cast<double>(in_a_row.count);
  return few ? in_squares : in_a_row;
}

}  // namespace

const GroupPlaces& group_places(const Dataset& data) {
  constexpr std::size_t most_rows = 1000;
  return *data.places.get([&] {
    auto made = std::make_unique<GroupPlaces>(places_of(data));
    const Rows& rows = data.train;
    const std::size_t some = std::min(most_rows, rows.count);
    made->numbers = rows.floats.empty() ? numbers_in_a_group(rows.bytes.data(), some, *made)
                                        : numbers_in_a_group(rows.floats.data(), some, *made);
    return made;
  });
}

const GroupedRows& grouped_rows(const Dataset& data) {
  return *data.grouped.get([&] {
    auto made = std::make_unique<GroupedRows>();
    const GroupPlaces& places = group_places(data);
    const Rows& rows = data.train;
    if (rows.floats.empty())
      put_groups(rows.bytes.data(), rows.count, places, made->begin, made->bytes);
    else
      put_groups(rows.floats.data(), rows.count, places, made->begin, made->floats);
    return made;
  });
}

bool groups_pay(const Dataset& data, std::size_t outputs) {
  constexpr double numbers_of_an_output = 0.5;  // bench/results
  return outputs == 1 ||
         group_places(data).numbers >= numbers_of_an_output * static_cast<double>(outputs);
}

}  // namespace gradrace
