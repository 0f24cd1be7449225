#include "models/datasets/grouped_rows.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "models/datasets/dataset.h"

namespace gradrace {

namespace {

using kernels::Group;
using kernels::in_lanes;
using kernels::lane_count;

void place_squares(const ImageShape& image, GroupedRows& made) {
  constexpr std::size_t side = 4;
  static_assert(side * side == lane_count);
  const auto squares = [](std::size_t numbers) { return (numbers + side - 1) / side; };
  const std::size_t rows = squares(image.height), columns = squares(image.width);
  for (std::size_t channel = 0; channel < image.channels; ++channel)
    for (std::size_t i = 0; i < image.height; ++i)
      for (std::size_t j = 0; j < image.width; ++j) {
        const std::size_t square = (channel * rows + i / side) * columns + j / side;
        const std::size_t place = square * lane_count + i % side * side + j % side;
        made.place_of.push_back(static_cast<std::uint32_t>(place));
      }
  made.places = image.channels * rows * columns * lane_count;
}

void place_neighbours(std::size_t features, GroupedRows& made) {
  made.place_of.resize(features);
  std::iota(made.place_of.begin(), made.place_of.end(), 0u);
  made.places = in_lanes(features);
}

/// How many neighbours always stay together, of each features / that many.
std::size_t together(const std::vector<std::uint32_t>& place_of) {
  constexpr std::size_t most = 4;
  if (place_of.size() % most != 0) return 1;
  for (std::size_t k = 0; k < place_of.size(); ++k)
    if (place_of[k] != place_of[k - k % most] + k % most) return 1;
  return most;
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

/// The groups of rows [rows, features].
template <class Number, class Groups>
void put_groups(const Number* row, std::size_t rows, GroupedRows& made, Groups& groups) {
  const std::size_t features = made.place_of.size(), n = together(made.place_of);
  std::vector<Number> placed(made.places);
  groups.reserve(rows * made.places / lane_count);
  for (std::size_t r = 0; r < rows; ++r, row += features) {
    n == 4 ? place<4>(row, made.place_of, placed.data())
           : place<1>(row, made.place_of, placed.data());
    for (std::size_t place = 0; place < made.places; place += lane_count) {
      const Number* const first = placed.data() + place;
      if (are_zero(first)) continue;
      groups.push_back({static_cast<std::uint32_t>(place), {}});
      std::copy_n(first, lane_count, groups.back().x);
    }
    made.begin.push_back(groups.size());
  }
}

}  // namespace

const GroupedRows& grouped_rows(const Dataset& data) {
  return *data.grouped.get([&] {
    auto made = std::make_unique<GroupedRows>();
    if (data.image)
      place_squares(*data.image, *made);
    else
      place_neighbours(data.features, *made);
    made->begin.push_back(0);
    const Rows& rows = data.train;
    if (rows.floats.empty())
      put_groups(rows.bytes.data(), rows.count, *made, made->bytes);
    else
      put_groups(rows.floats.data(), rows.count, *made, made->floats);
    return made;
  });
}

}  // namespace gradrace
