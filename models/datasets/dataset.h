#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/datasets/grouped_rows.h"
#include "models/datasets/image_shape.h"
#include "models/datasets/listed_numbers.h"
#include "models/datasets/made_once.h"
#include "models/datasets/sparse_rows.h"
#include "sim/reading/packed_file.h"

namespace gradrace {

/// Rows of one split: features, and a class or a target.  Small integers stay bytes; what is not is
/// float, and listed where all numbers would be too many.
struct Rows {
  std::size_t count = 0;
  Bytes bytes = {};                        // [count, features], or empty
  std::vector<float> floats = {};          // [count, features], or empty
  std::vector<std::uint8_t> classes = {};  // [count], or empty
  std::vector<float> targets = {};         // [count], or empty
  ListedNumbers listed = {};               // of count rows, or empty
};

/// A task of classification or regression, immutable and shared by every run that uses it.
struct Dataset {
  std::size_t features = 0;
  std::size_t classes = 0;  // 0: the rows have targets
  float byte_scale = 1;     // a feature is its byte times this
  std::optional<ImageShape> image = {};
  Rows train, test;
  double parts = 1;                     // as many times the rows it stands for
  std::string hash = {};                // of the content, hexadecimal
  std::vector<std::string> notes = {};  // what a user of the data should know
  MadeOnce<SparseRows> sparse = {};     // sparse_rows()
  MadeOnce<GroupPlaces> places = {};    // group_places()
  MadeOnce<GroupedRows> grouped = {};   // grouped_rows()
};

}  // namespace gradrace
