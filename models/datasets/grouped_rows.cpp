#include "models/datasets/grouped_rows.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>

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

/// Rows [rows, features] of numbers, put in their places one after the other.
template <class N>
class WholeRows {
 public:
  using Number = N;
  WholeRows(const Number* numbers, const std::vector<std::uint32_t>& place_of)
      : numbers_(numbers),
        place_of_(place_of),
        put_(stay_together(place_of) ? place<at_once, Number> : place<1, Number>) {}

  void put(std::size_t row, std::vector<Number>& placed) const {
    put_(numbers_ + row * place_of_.size(), place_of_, placed.data());
  }

 private:
  const Number* numbers_;
  const std::vector<std::uint32_t>& place_of_;
  void (*put_)(const Number*, const std::vector<std::uint32_t>&, Number*);
};

class ListedRows {
 public:
  using Number = float;
  ListedRows(const ListedNumbers& numbers, const std::vector<std::uint32_t>& place_of)
      : numbers_(numbers), place_of_(place_of) {}

  void put(std::size_t row, std::vector<float>& placed) const {
    std::ranges::fill(placed, 0.0f);
    numbers_.each_of(row, [&](std::uint32_t at, float number) { placed[place_of_[at]] = number; });
  }

 private:
  const ListedNumbers& numbers_;
  const std::vector<std::uint32_t>& place_of_;
};

/// use(place, its lane_count numbers) of every group of the rows that is not all 0; end_row() after
/// those of a row.
template <class Rows, class Use, class EndRow>
void each_group(const Rows& from, std::size_t rows, const GroupPlaces& places, const Use& use,
                const EndRow& end_row) {
  std::vector<typename Rows::Number> placed(places.count);
  for (std::size_t r = 0; r < rows; ++r) {
    from.put(r, placed);
    for (std::size_t at = 0; at < places.count; at += lane_count)
      if (!are_zero(placed.data() + at)) use(at, placed.data() + at);
    end_row();
  }
}

template <class Rows, class Groups>
void put_groups(const Rows& from, std::size_t rows, const GroupPlaces& places,
                std::vector<std::uint64_t>& begin, Groups& groups) {
  begin.push_back(0);
  each_group(
      from, rows, places,
      [&](std::size_t place, const typename Rows::Number* numbers) {
        groups.push_back({static_cast<std::uint32_t>(place), {}});
        std::copy_n(numbers, lane_count, groups.back().x);
      },
      [&] { begin.push_back(groups.size()); });
}

template <class Rows>
double numbers_in_a_group(const Rows& from, std::size_t rows, const GroupPlaces& places) {
  std::size_t groups = 0, zeros = 0;
  each_group(
      from, rows, places,
      [&](std::size_t, const typename Rows::Number* numbers) {
        ++groups;
        zeros += zeros_of(std::span(numbers, lane_count));
      },
      [] {});
  return static_cast<double>(groups * lane_count - zeros) /
         std::max(1.0, static_cast<double>(groups));
}

/// use(rows in their places) of those of the split.
auto with_rows_of(const Rows& split, const GroupPlaces& places, const auto& use) {
  if (!split.listed.empty()) return use(ListedRows(split.listed, places.of_feature));
  if (!split.bytes.empty()) return use(WholeRows(split.bytes.data(), places.of_feature));
  return use(WholeRows(split.floats.data(), places.of_feature));
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
    made->numbers = with_rows_of(
        rows, *made, [&](const auto& from) { return numbers_in_a_group(from, some, *made); });
    return made;
  });
}

const GroupedRows& grouped_rows(const Dataset& data) {
  return *data.grouped.get([&] {
    auto made = std::make_unique<GroupedRows>();
    const GroupPlaces& places = group_places(data);
    const Rows& rows = data.train;
    if (rows.listed.empty()) {
      const std::size_t most = rows.count * places.count / lane_count;
      rows.bytes.empty() ? made->floats.reserve(most) : made->bytes.reserve(most);
    }
    with_rows_of(rows, places, [&](const auto& from) {
      if constexpr (std::is_same_v<typename std::decay_t<decltype(from)>::Number, float>)
        put_groups(from, rows.count, places, made->begin, made->floats);
      else
        put_groups(from, rows.count, places, made->begin, made->bytes);
    });
    return made;
  });
}

bool groups_pay(const Dataset& data, std::size_t outputs) {
  constexpr double numbers_of_an_output = 0.5;  // bench/results
  return outputs == 1 ||
         group_places(data).numbers >= numbers_of_an_output * static_cast<double>(outputs);
}

}  // namespace gradrace
