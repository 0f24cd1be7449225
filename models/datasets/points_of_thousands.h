#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "models/datasets/text_line.h"

namespace gradrace {

/// Whether the points of a column may stand between thousands ("1.187" for 1187): each is before
/// three digits, the last ones, and numbers without one are below 1000; at least two of each
/// differ, as a mark of what is missing does not.  Or none is without one, where cells are
/// separated by semicolons and no point of the file is before other digits.
class PointsOfThousands {
 public:
  void look(const TextLine& line, std::string_view cell) {
    if (excluded_ && decimals_) return;
    const std::string_view number = cell.substr(cell.starts_with('-'));
    const std::string_view whole = number.substr(0, number.find('.'));
    const bool has_point = whole.size() < number.size();
    const auto are_digits = [](std::string_view text) {
      return text.find_first_not_of("0123456789") == text.npos;
    };
    const bool excludes = whole.empty() || whole.size() > 3 || !are_digits(whole) ||
                          (whole.starts_with('0') && number != "0") ||
                          (has_point && (number.size() != whole.size() + 4 ||
                                         !are_digits(number.substr(whole.size() + 1))));
    decimals_ = decimals_ || (excludes && has_point && finite_number(number));
    excluded_ = excluded_ || excludes;
    if (has_point && first_.empty()) place_ = line.place();
    std::string& first = has_point ? first_ : first_without_;
    if (first.empty())
      first = cell;
    else if (first != cell)
      (has_point ? differ_ : differ_without_) = true;
  }

  /// Whether a point is before digits that are no thousand.
  bool has_decimals() const { return decimals_; }

  /// std::runtime_error with file, line, column and cure where they may.  `unsure`: semicolons, and
  /// no column has decimals.
  void refuse(const std::string& column, bool unsure) const {
    const bool none_without = first_without_.empty();
    if (excluded_ || !differ_ || !(none_without ? unsure : differ_without_)) return;
    std::string without = first_;
    without.erase(without.find('.'), 1);
    throw std::runtime_error(
        place_ + ": column \"" + column + "\": \"" + first_ + "\" may be " + without +
        ", as every point of the column is before three digits, and " +
        (none_without ? "semicolons separate the cells; points between thousands are to be left "
                        "out, or, if they are before decimals, commas to separate the cells"
                      : "numbers without one are below 1000; points between thousands are to be "
                        "left out, and whole numbers beside decimals to be written as 7.0"));
  }

 private:
  bool excluded_ = false, decimals_ = false, differ_ = false, differ_without_ = false;
  std::string first_, first_without_;  // with a point, and without
  std::string place_;                  // of the first with one
};

}  // namespace gradrace
