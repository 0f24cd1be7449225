#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/cpu/kernels/groups.h"
#include "sim/large_pages.h"

namespace gradrace {

struct Dataset;

/// The training rows in groups of features that are often 0 together: squares of 4 x 4 numbers of
/// an image, else neighbours.  A group whose numbers are all 0 is left out.
struct GroupedRows {
  std::vector<std::uint32_t> place_of;           // [features] in a row of all groups
  std::size_t places = 0;                        // of such a row, padding included
  std::vector<std::uint64_t> begin;              // [rows + 1] of each row's groups
  LargeVector<kernels::ByteGroup> bytes = {};    // of numbers that are bytes
  LargeVector<kernels::FloatGroup> floats = {};  // of others
};

const GroupedRows& grouped_rows(const Dataset& data);

}  // namespace gradrace
