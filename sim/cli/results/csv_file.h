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
#include "sim/results/column.h"

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

/// As a cell is written.
template <class Cell>
constexpr CellType type_of = std::is_floating_point_v<Cell>
                                 ? CellType::number
                                 : (std::is_arithmetic_v<Cell> ? CellType::integer
                                                               : CellType::text);

/// A column of a CSV file with its cell in a row.
template <class Row>
struct CsvColumn : Column {
  /// `value`: a member of Row or a function of one.
  template <class Value>
  CsvColumn(std::string its_name, std::string_view its_unit, Meaning its_meaning, Value value,
            Role its_role = Role::result)
      : CsvColumn(
            std::move(its_name), its_unit, its_meaning, value,
            type_of<
                std::decay_t<decltype(cell_of(std::invoke(value, std::declval<const Row&>())))>>,
            its_role) {}
  /// `type`: of what the text says that `value` gives.
  template <class Value>
  CsvColumn(std::string its_name, std::string_view its_unit, Meaning its_meaning, Value value,
            CellType its_type, Role its_role = Role::result)
      : Column{std::move(its_name), its_unit, its_meaning, its_type, its_role} {
    write = [value](Csv& csv, const Row& row) { csv.cell(cell_of(std::invoke(value, row))); };
  }

  std::function<void(Csv& csv, const Row& row)> write;
};

/// What `gradrace list columns` and manifests say of a CSV file.
struct CsvPage {
  std::string_view name, row;
  std::vector<Column> columns;
};

/// A CSV file: what a row of it is, and its columns in order.
template <class Row>
struct CsvFile {
  std::string_view name, row;
  std::vector<CsvColumn<Row>> columns;

  CsvPage page() const { return {name, row, {columns.begin(), columns.end()}}; }

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
