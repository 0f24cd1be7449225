#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/cli/results/cells.h"
#include "sim/results/column.h"
#include "sim/theory.h"

namespace gradrace {

/// What a cell has of a value: "exact" and so on of a basis.
template <class T>
const T& cell_of(const T& value) {
  return value;
}
inline std::optional<double> cell_of(const std::optional<Estimate>& estimate) {
  return estimate ? std::optional(estimate->value) : std::nullopt;
}
inline std::string_view cell_of(const std::optional<Basis>& basis) {
  constexpr std::string_view names[] = {"exact", "upper", "lower", "approximate"};
  return basis ? names[static_cast<std::size_t>(*basis)] : "";
}
inline std::optional<Basis> basis_of(const std::optional<Estimate>& estimate) {
  return estimate ? std::optional(estimate->basis) : std::nullopt;
}

/// Of the cells of such values that are not empty.
template <class Value>
constexpr CellType type_of = std::is_floating_point_v<Value> || std::is_same_v<Value, OrNan>
                                 ? CellType::number
                                 : (std::is_integral_v<Value> ? CellType::integer : CellType::text);
template <class Value>
constexpr CellType type_of<std::optional<Value>> = type_of<Value>;

/// A column of a CSV file with its cell in a row.
template <class Values>
struct CsvColumn : Column {
  /// `value`: a member of Values or a function of one.
  template <class Value>
  CsvColumn(std::string its_name, std::string_view its_unit, Meaning its_meaning, Value value,
            Role its_role = Role::result)
      : Column{
            std::move(its_name), its_unit, its_meaning,
            type_of<
                std::decay_t<decltype(cell_of(std::invoke(value, std::declval<const Values&>())))>>,
            its_role} {
    add = [value](std::string& cells, const Values& values) {
      add_cell(cells, cell_of(std::invoke(value, values)));
    };
  }
  /// Whose cells are those of whoever publishes the rows.
  CsvColumn(std::string its_name, Meaning its_meaning)
      : Column{std::move(its_name), {}, its_meaning, CellType::integer, Role::run} {}

  std::function<void(std::string& cells, const Values& values)> add;
};

/// What `gradrace list columns` and manifests say of a CSV file.
struct CsvPage {
  std::string_view name, row;
  std::vector<Column> columns;

  std::string header() const {
    std::vector<Cell> names;
    for (const Column& column : columns) names.emplace_back(column.name);
    std::string text;
    add_csv_line(text, names);
    return text;
  }
};

/// A CSV file: what a row of it is, and its columns in order.
template <class Values>
struct CsvFile {
  std::string_view name, row;
  std::vector<CsvColumn<Values>> columns;

  CsvPage page() const { return {name, row, {columns.begin(), columns.end()}}; }

  /// The cells of a row, but for those of whoever publishes it.
  void add(std::string& cells, const Values& values) const {
    for (const auto& column : columns)
      if (column.add) column.add(cells, values);
  }

  /// With its header.
  std::string text(const std::vector<Values>& rows) const {
    std::string text = page().header(), cells;
    for (const auto& values : rows) add(cells, values);
    RowReader(columns.size()).read(cells, [&](CellRow line) { add_csv_line(text, line); });
    return text;
  }
};

}  // namespace gradrace
