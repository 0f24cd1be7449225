#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "models/datasets/dataset.h"
#include "models/datasets/labelled_rows.h"
#include "models/datasets/text_line.h"
#include "sim/message_text.h"

namespace gradrace {
namespace {

namespace fs = std::filesystem;

constexpr Page page{
    "csv",
    "A table: a line of names, then rows with a cell in each column, apart by commas.  The column "
    "`label` has the class, a number or a word, or, with `regression`, the target; every other "
    "column is a feature, a number as it stands.  The classes are the different labels of the "
    "training rows, in ascending order; if one of these is not a number, all are words, sorted by "
    "their bytes.",
    "RFC 4180, a row a line",
    R"({"kind": "csv", "path": "../data/wine.csv", "label": "quality", "test_rows": 100})"};

/// The columns of a file, and which of them is the label.
struct Columns {
  std::vector<std::string> names;
  std::size_t label = 0;
  bool of_targets = false;  // the labels are numbers
};

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

std::vector<std::string> read_names(TextLine& line) {
  for (const char c : {'\xEF', '\xBB', '\xBF'}) line.skip(c);  // a byte order mark
  std::vector<std::string> names{line.cell()};
  while (line.skip(',')) names.push_back(line.cell());
  return names;
}

std::size_t find_label(const TextLine& line, const std::vector<std::string>& names,
                       const std::string& label) {
  const auto count = std::count(names.begin(), names.end(), label);
  if (count != 1) {
    line.defect((count == 0 ? "no column \"" : "more than one column \"") + label +
                "\" (the columns: " + listed(names) + ")");
  }
  if (names.size() == 1) line.defect("there is no column beside \"" + label + "\"");
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), label) - names.begin());
}

[[noreturn]] void defect(const TextLine& line, const std::string& column, const std::string& what) {
  line.defect("column \"" + column + "\": " + what);
}

std::string read_cell(TextLine& line, const Columns& columns, std::size_t column) {
  if (column > 0 && line.at_end()) {
    defect(line, columns.names[column],
           "has no cell here: the line ends after " + std::to_string(column) + " of " +
               std::to_string(columns.names.size()));
  }
  if (column > 0) line.comma();
  return line.cell();
}

double number_in(const TextLine& line, const std::string& column, const std::string& cell) {
  const auto number = finite_number(cell);
  if (!number) {
    defect(line, column,
           "expected a finite number, found " +
               (cell.empty() ? "an empty cell" : "\"" + cell.substr(0, 40) + "\""));
  }
  return *number;
}

/// A class: NaN where it is not a number.
void read_class(const TextLine& line, const std::string& column, const std::string& cell,
                LabelledRows& rows) {
  if (cell.empty()) defect(line, column, "expected a label, found an empty cell");
  rows.labels.push_back(finite_number(cell).value_or(std::numeric_limits<double>::quiet_NaN()));
  rows.words.push_back(cell);
}

void read_row(TextLine& line, const Columns& columns, LabelledRows& rows) {
  for (std::size_t column = 0; column < columns.names.size(); ++column) {
    const std::string cell = read_cell(line, columns, column);
    const std::string& name = columns.names[column];
    if (column != columns.label) {
      const double number = number_in(line, name, cell);
      const auto kept = in_single_precision(number);
      if (!kept) defect(line, name, beyond_single_precision(number));
      rows.x.push_back(*kept);
    } else if (columns.of_targets) {
      rows.labels.push_back(number_in(line, name, cell));
    } else {
      read_class(line, name, cell, rows);
    }
  }
  line.end(count_text(columns.names.size(), "cell"));
  rows.lines.push_back(line.number());
}

LabelledRows read_rows(const fs::path& file, const std::string& label, bool regression) {
  LabelledRows rows;
  rows.file = file;
  Columns columns{.names = {}, .of_targets = regression};
  each_line(file, [&](TextLine& line) {
    if (columns.names.empty()) {
      columns.names = read_names(line);
      columns.label = find_label(line, columns.names, label);
    } else if (!line.at_end()) {
      read_row(line, columns, rows);
    }
  });
  rows.features = columns.names.size() - !columns.names.empty();
  rows.names = std::move(columns.names);
  return rows;
}

LoadDataset read(Fields& fields, DataShelf& shelf) {
  LabelledFiles files;
  std::string label;
  visit(fields, files, shelf);
  fields.text("label", label, Need::required, "column of the class or target");
  if (!fields.good()) return {};
  return read_labelled_files(shelf, "csv " + label, files,
                             [label, regression = files.regression](const fs::path& file) {
                               return read_rows(file, label, regression);
                             });
}

}  // namespace

extern const DatasetEntry csv_entry{page, partitioned<read>};

}  // namespace gradrace
