#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/cli/results/csv.h"
#include "sim/protocol.h"

namespace gradrace {

/// What a cell has of a value: nothing where it is not known, "exact" and so on of a basis.
template <class T>
const T& cell_of(const T& value) {
  return value;
}
inline double cell_of(const std::optional<double>& value) {
  return value.value_or(std::numeric_limits<double>::quiet_NaN());
}
inline double cell_of(const std::optional<Estimate>& estimate) {
  return estimate ? estimate->value : std::numeric_limits<double>::quiet_NaN();
}
inline std::string_view cell_of(const std::optional<Basis>& basis) {
  constexpr std::string_view names[] = {"exact", "upper", "lower", "approximate"};
  return basis ? names[static_cast<std::size_t>(*basis)] : "";
}
inline std::optional<Basis> basis_of(const std::optional<Estimate>& estimate) {
  return estimate ? std::optional(estimate->basis) : std::nullopt;
}

/// What the fields of a column are, those that are not empty.
enum class CellType { number, integer, text };

/// As a cell is written.
template <class Cell>
constexpr CellType type_of = std::is_floating_point_v<Cell>
                                 ? CellType::number
                                 : (std::is_arithmetic_v<Cell> ? CellType::integer
                                                               : CellType::text);

/// What a column has, in words, and how it is computed, where it is computed of other numbers.
struct Meaning {
  Meaning(const char* its_text, std::string_view its_formula = {})
      : text(its_text), formula(its_formula) {}
  Meaning(std::string_view its_text, std::string_view its_formula = {})
      : text(its_text), formula(its_formula) {}

  std::string_view text, formula;
};

/// A column of a CSV file: what `gradrace list columns` says of it, and its cell in a row.
template <class Row>
struct Column {
  /// `value`: a member of Row or a function of one.
  template <class Value>
  Column(std::string its_name, std::string_view its_unit, Meaning its_meaning, Value value)
      : Column(
            std::move(its_name), its_unit, its_meaning, value,
            type_of<
                std::decay_t<decltype(cell_of(std::invoke(value, std::declval<const Row&>())))>>) {}
  /// `type`: of what the text says that `value` gives.
  template <class Value>
  Column(std::string its_name, std::string_view its_unit, Meaning its_meaning, Value value,
         CellType its_type)
      : name(std::move(its_name)), unit(its_unit), meaning(its_meaning), type(its_type) {
    write = [value](Csv& csv, const Row& row) { csv.cell(cell_of(std::invoke(value, row))); };
  }

  std::string name;
  std::string_view unit;  // empty: none; "time": that of the runtime distribution
  Meaning meaning;
  CellType type;
  std::function<void(Csv& csv, const Row& row)> write;
};

/// What `gradrace list columns` says of a CSV file.
struct CsvPage {
  struct Line {
    std::string name;
    std::string_view unit;
    Meaning meaning;
    CellType type;
  };

  std::string_view name, row;
  std::vector<Line> lines;
};

/// A CSV file: what a row of it is, and its columns in order.
template <class Row>
struct CsvFile {
  std::string_view name, row;
  std::vector<Column<Row>> columns;

  CsvPage page() const {
    CsvPage page{name, row, {}};
    for (const auto& column : columns)
      page.lines.push_back({column.name, column.unit, column.meaning, column.type});
    return page;
  }

  std::string header() const {
    std::string text;
    Csv csv(text);
    for (const auto& column : columns) csv.cell(column.name);
    csv.end_row();
    return text;
  }

  void add(std::string& text, const Row& values) const {
    Csv csv(text);
    for (const auto& column : columns) column.write(csv, values);
    csv.end_row();
  }

  std::string text(const std::vector<Row>& rows) const {
    std::string text = header();
    for (const auto& values : rows) add(text, values);
    return text;
  }
};

}  // namespace gradrace
