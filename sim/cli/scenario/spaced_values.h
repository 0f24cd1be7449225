#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/reading/document.h"
#include "sim/reading/fields.h"

namespace gradrace {

/// A list of a sweep written by its ends.
struct SpacedValues {
  double from = 0, to = 0;
  std::optional<std::uint64_t> log, linear;  // one of them: how many values

  /// From one end to the other, both as they are; those between have 12 significant digits and are
  /// the same on every machine.
  std::vector<double> values() const;
};

void visit(Fields& fields, SpacedValues& spaced);

/// Whether a value of that JSON pointer is meant as such a list.
bool is_spaced(const Document& document, std::string_view pointer);

/// The list; none if it is wrong, whose problems are added.
std::optional<std::vector<double>> read_spaced(const Document& document, std::string_view pointer,
                                               std::vector<Problem>& problems);

}  // namespace gradrace
