#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/datasets/groups.h"
#include "sim/large_pages.h"

namespace gradrace {

struct Dataset;

/// Where features stand, so that those of a group are often 0 together: squares of 4 x 4 numbers of
/// an image, unless that takes much padding; else neighbours.
struct GroupPlaces {
  std::vector<std::uint32_t> of_feature;  // [features]
  std::size_t count = 0;                  // a multiple of lane_count
  double numbers = 0;  // that are not 0, of a group of the first training rows that is not all 0
};
const GroupPlaces& group_places(const Dataset& data);

/// The training rows, without the groups whose numbers are all 0.
struct GroupedRows {
  std::vector<std::uint64_t> begin;              // [rows + 1] of each row's groups
  LargeVector<kernels::ByteGroup> bytes = {};    // of numbers that are bytes
  LargeVector<kernels::FloatGroup> floats = {};  // of others
};
const GroupedRows& grouped_rows(const Dataset& data);

/// Whether products of groups are faster than those of entries (row_entries.h) or of all numbers.
bool groups_pay(const Dataset& data, std::size_t outputs);

}  // namespace gradrace
