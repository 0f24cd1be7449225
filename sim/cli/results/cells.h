#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/results/column.h"

namespace gradrace {

/// A number of which NaN is a value.
struct OrNan {
  double value;
};

/// A value of a row.  An integer is not negative.
struct Cell {
  CellType type = CellType::none;
  double number = 0;
  std::uint64_t integer = 0;
  std::string_view text = {};

  Cell() = default;
  Cell(OrNan value) : type(CellType::number), number(value.value) {}
  /// NaN, and an empty text: none.
  Cell(double value) : type(value == value ? CellType::number : CellType::none), number(value) {}
  Cell(std::integral auto value)
      : type(CellType::integer), integer(static_cast<std::uint64_t>(value)) {}
  Cell(std::string_view value)
      : type(value.empty() ? CellType::none : CellType::text), text(value) {}
  Cell(const std::string& value) : Cell(std::string_view(value)) {}
  Cell(const char* value) : Cell(std::string_view(value)) {}
  template <class T>
  Cell(const std::optional<T>& value) : Cell(value ? Cell(*value) : Cell()) {}
};

using CellRow = std::span<const Cell>;

/// As the machine has it.
template <class Number>
void add_bytes(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Adds it to the bytes of rows, which a store keeps.
void add_cell(std::string& bytes, const Cell& cell);

/// Bytes that are no cell.
struct NoCell : std::runtime_error {
  NoCell() : runtime_error("no cell of a table") {}
};

/// Takes a cell off the begin of bytes, of which its text is a part.  False: they end before it
/// does.  NoCell.
bool take_cell(std::string_view& bytes, Cell& cell);

/// Takes rows of so many cells apart, whose bytes come in pieces.
class RowReader {
 public:
  explicit RowReader(std::size_t columns) : row_(columns) {}

  /// Hands each row to take(CellRow).  NoCell.
  template <class Take>
  void read(std::string_view piece, Take take) {
    waiting_ += piece;
    std::string_view rest = waiting_;
    while (!rest.empty() && take_row(rest)) take(CellRow(row_));
    waiting_.erase(0, waiting_.size() - rest.size());
  }

  /// Whether nothing is left of a row that has begun.
  bool is_at_end() const { return waiting_.empty(); }

 private:
  bool take_row(std::string_view& bytes);

  std::vector<Cell> row_;
  std::string waiting_;
};

/// Adds a line of comma-separated values (RFC 4180, but with a bare line feed) to a text.
void add_csv_line(std::string& text, CellRow row);

}  // namespace gradrace
