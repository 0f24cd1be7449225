#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "models/datasets/dataset.h"
#include "sim/reading/reference.h"

/// What files of arrays have in common: images, and a class for each.
namespace gradrace {

/// The number that the last bytes of a word are: unsigned (kind 'u'), signed ('i') or a float
/// ('f').
inline double number_of(std::uint64_t word, char kind, std::size_t bytes) {
  const unsigned unused = 64 - 8 * static_cast<unsigned>(bytes);
  if (kind == 'f' && bytes == 4)
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(word)));
  if (kind == 'f') return std::bit_cast<double>(word);
  if (kind == 'i') return static_cast<double>(static_cast<std::int64_t>(word << unused) >> unused);
  return static_cast<double>(word);
}

/// The class that a label is; std::runtime_error, which begins with where(), if it is none.
std::uint8_t class_of(double label, const auto& where) {
  if (!(label >= 0 && label <= 255 && label == std::floor(label)))
    throw std::runtime_error(
        where() + " is " + json_number(label) + "; allowed are whole numbers from 0 to 255" +
        (label == -1 ? ": of labels -1 and 1, (y + 1) / 2 makes 0 and 1" : ""));
  return static_cast<std::uint8_t>(label);
}

/// Classes are 0 to the greatest of the training rows; std::runtime_error, which begins as said,
/// where it is 0 or a test row has a greater one.
inline void count_classes(Dataset& data, const std::string& train, const std::string& test) {
  data.classes = 1 + std::size_t{*std::ranges::max_element(data.train.classes)};
  if (data.classes < 2)
    throw std::runtime_error(train + "every label is 0; two classes are needed");
  const std::size_t greatest = *std::ranges::max_element(data.test.classes);
  if (greatest >= data.classes)
    throw std::runtime_error(test + "label " + std::to_string(greatest) +
                             ", the training labels end at " + std::to_string(data.classes - 1));
}

}  // namespace gradrace
