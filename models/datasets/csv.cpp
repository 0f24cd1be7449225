#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/datasets/feature_columns.h"
#include "models/datasets/labelled_rows.h"
#include "models/datasets/points_of_thousands.h"
#include "models/datasets/shelf.h"
#include "models/datasets/text_line.h"
#include "sim/message_text.h"
#include "sim/reading/edit_distance.h"

namespace gradrace {
namespace {

namespace fs = std::filesystem;

constexpr Page page{
    "csv",
    "A table: a line of names, then rows with a cell in each column, separated by commas, or by "
    "semicolons, tabs, | or blanks where the first line is.  The column `label` has the class, a "
    "number or a "
    "word, or, with `regression`, the target; every other column is a feature, a number as it "
    "stands, or, of a column of words, a feature for each of them that is 1 where it stands and "
    "else 0.  A first column without a name that numbers the rows is left out.  The classes are "
    "the different labels of the training rows, in ascending order; if one of these is not a "
    "number, all are words, sorted by their bytes.  Without a line of names, which `header` says, "
    "the columns are called 1, 2 and so on.",
    "RFC 4180, a row a line",
    R"({"kind": "csv", "path": "../data/wine.csv", "label": "quality", "test_rows": 100})"};

constexpr std::size_t most_words = 256;  // of a column

/// What the scenario says of a table.
struct Config {
  LabelledFiles files;
  std::string label;
  bool has_header = true;
  bool header_is_judged = true;  // it is not said
};

/// The columns of a file, and which of them is the label.
struct Columns {
  std::vector<std::string> names;
  char separator = ',';
  std::size_t label = 0;
  bool of_targets = false;  // the labels are numbers
  bool named = true;        // by a line of the file
};

char separator_of(const TextLine& line) {
  const std::size_t commas = line.count(',');
  for (const char separator : {';', '\t', '|'})
    if (const std::size_t count = line.count(separator); count > 0 && count >= commas)
      return separator;
  return commas == 0 && line.count(' ') > 0 ? ' ' : ',';
}

std::vector<std::string> read_cells(TextLine& line, char separator) {
  std::vector<std::string> cells{line.cell(separator)};
  while (line.skip_separator(separator)) cells.push_back(line.cell(separator));
  return cells;
}

/// Of a line of names: all cells are numbers, or some are that do not count the columns.
bool is_row_of_data(const std::vector<std::string>& cells) {
  std::vector<double> numbers;
  for (const auto& cell : cells)
    if (const auto number = finite_number(cell)) numbers.push_back(*number);
  if (numbers.empty()) return false;
  if (numbers.size() == cells.size()) return true;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != std::floor(numbers[i]) || numbers[i] != numbers[0] + static_cast<double>(i))
      return true;
  return numbers.size() == 1 && numbers[0] != 0 && numbers[0] != 1;
}

constexpr const char* without_names =
    R"("header": false, and "label" the number of its column, from "1"; or a first line of names)";

std::size_t find_label(const TextLine& line, const std::vector<std::string>& names,
                       const std::string& label, bool named) {
  const auto count = std::count(names.begin(), names.end(), label);
  if (count != 1) {
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string nearest(nearest_name(label, known));
    line.defect(
        (count == 0 ? "no column \"" : "more than one column \"") + label +
        "\" (the columns: " + joined(names) +
        (names.size() == 1 ? "; cells end at commas, semicolons, tabs, | or blanks)" : ")") +
        (count > 1 ? "; the others are to be named otherwise" : "") +
        (nearest.empty() || count > 0 ? "" : "; did you mean \"" + nearest + "\"?") +
        (named ? "" : "; a first line that is no row is to be left out of the file"));
  }
  if (names.size() == 1) line.defect("there is no column beside \"" + label + "\"");
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), label) - names.begin());
}

/// Reads the line of names, if it is one.
Columns read_columns(TextLine& line, const Config& config) {
  line.skip_word("\xEF\xBB\xBF");  // a byte order mark
  for (const std::string_view of_arff : {"@relation ", "@RELATION ", "@Relation ", "% "})
    if (line.rest().starts_with(of_arff))
      line.defect("is ARFF: leave out the lines up to @DATA, and say \"header\": false");
  Columns columns{.names = {},
                  .separator = separator_of(line),
                  .of_targets = config.files.regression,
                  .named = config.has_header};
  if (config.has_header) {
    columns.names = read_cells(line, columns.separator);
    if (config.header_is_judged && is_row_of_data(columns.names))
      line.defect(std::string("is a row of data where a line of names is needed; allowed: ") +
                  without_names);
  } else {
    TextLine first = line;
    columns.names = read_cells(first, columns.separator);
    for (std::size_t i = 0; i < columns.names.size(); ++i) columns.names[i] = std::to_string(i + 1);
  }
  columns.label = find_label(line, columns.names, config.label, columns.named);
  return columns;
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
  if (column > 0) line.separator(columns.separator);
  return line.cell(columns.separator);
}

constexpr std::string_view wide_minus = "\xE2\x88\x92";

/// Of a number or a word that is missing, or that a spreadsheet could not compute.
bool is_mark_of_none(const std::string& cell) {
  std::string small;
  for (const char c : cell) small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view all[] = {"#n/a",     "nan",       "inf",    "-inf", "+inf",
                                      "infinity", "-infinity", "na",     "n/a",  "<na>",
                                      "null",     "none",      "missing"};
  return std::ranges::find(all, small) != std::end(all) ||
         (cell.starts_with('#') && cell.ends_with('!'));
}

/// The number before a unit, "96.26" of "96.26 EUR".
bool has_unit(std::string_view cell) {
  const std::size_t unit = cell.find_first_not_of("0123456789.+-");
  if (unit == cell.npos || cell.find_first_of("0123456789", unit) != cell.npos) return false;
  return finite_number(cell.substr(0, unit)).has_value();
}

/// What makes a number of a cell that is none, or what is to become of it.
std::string cure_of(const Columns& columns, std::size_t column, const std::string& cell) {
  const std::size_t comma = cell.find(',');
  if (comma != cell.npos && cell.find('.', comma) != cell.npos)
    return "; commas between thousands are to be left out";
  if (comma != cell.npos && columns.separator != ',') return "; decimal commas are to be points";
  if (cell.empty() && columns.names[column].empty())
    return "; a separator at the end of each line is to be left out";
  if (cell.find_first_of("%$") != cell.npos) return "; signs such as % and $ are to be left out";
  std::string without = cell;
  std::erase(without, ',');
  if (without != cell && finite_number(without))
    return "; commas are to be left out: between thousands, or a decimal point in their place";
  const auto marks = [&](std::string_view all) {
    return std::ranges::count_if(cell, [&](char c) { return all.find(c) != all.npos; });
  };
  if (marks(".") >= 2 && marks("-/: ") == 0 && cell.rfind('.') + 4 == cell.size())
    return "; points between thousands are to be left out";
  if (marks("0123456789") > 0 && (marks("-/:") >= 2 || marks(".") == 2) &&
      cell.find_first_not_of("0123456789-/:.TZ ") == cell.npos)
    return "; a column of dates or times is no feature, and is to be left out of the file";
  if (cell.starts_with(wide_minus)) return "; a minus is to be -, and not U+2212";
  if (has_unit(cell)) return "; units behind numbers are to be left out";
  if (marks("0123456789") > 0 && !is_mark_of_none(cell)) return "";
  return std::string("; leave such a row out of the file, or give it a number") +
         (cell.empty() ? ", or leave out a column without any" : "");
}

[[noreturn]] void refuse_number(const TextLine& line, const Columns& columns, std::size_t column,
                                const std::string& cell) {
  defect(line, columns.names[column],
         "expected a finite number, found " +
             (cell.empty() ? "an empty cell" : "\"" + cell.substr(0, 40) + "\"") +
             cure_of(columns, column, cell));
}

double number_in(const TextLine& line, const Columns& columns, std::size_t column,
                 const std::string& cell) {
  const auto number = finite_number(cell);
  if (!number) refuse_number(line, columns, column, cell);
  return *number;
}

/// A class: NaN where it is not a number.
void read_class(const TextLine& line, const Columns& columns, const std::string& cell,
                LabelledRows& rows) {
  const std::string& column = columns.names[columns.label];
  if (cell.empty()) defect(line, column, "expected a label, found an empty cell");
  const auto number = finite_number(cell);
  if (!number && (cell == "?" || is_mark_of_none(cell)))
    defect(line, column,
           "expected a label, found \"" + cell +
               "\"; leave such a row out of the file, or write a class so called as another word");
  if (columns.named && cell == column)
    defect(line, column,
           std::string("a label is the name of its column: is the first line a row of data?  "
                       "allowed: ") +
               without_names);
  rows.labels.push_back(number.value_or(std::numeric_limits<double>::quiet_NaN()));
  rows.words.push_back(cell);
}

/// Neither a number that is written in another way nor a mark of a missing one.
bool is_word(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.,+-eE%$ '_") != cell.npos &&
         !is_mark_of_none(cell) && !cell.starts_with(wide_minus);
}

/// Features of a file, and the words of the columns that have some.
class Features {
 public:
  explicit Features(std::size_t columns) : words_(columns), points_(columns) {}

  void look(const TextLine& line, std::size_t column, const std::string& cell) {
    points_[column].look(line, cell);
  }

  float read(const TextLine& line, const Columns& columns, std::size_t column,
             const std::string& cell) {
    const auto number = finite_number(cell);
    auto& words = words_[column];
    if (words.empty() && (number || rows_ > 0 || !is_word(cell)))
      return number_of(line, columns, column, cell);
    if (number || !is_word(cell))
      defect(
          line, columns.names[column],
          "expected a word, as in the rows before, found \"" + cell.substr(0, 40) + "\"" +
              (number && rows_ == 1 ? "; a row of units below the names is to be left out" : ""));
    const auto known = words.try_emplace(cell, words.size()).first;
    if (words.size() > most_words)
      defect(line, columns.names[column],
             "has more than " + std::to_string(most_words) +
                 " different words, which is the most; a column of names or texts is to be left "
                 "out of the file" +
                 (has_unit(cell) ? cure_of(columns, column, cell) : ""));
    return static_cast<float>(known->second);
  }

  void end_row() { ++rows_; }

  /// What is left to do when all rows are read: the words are numbered in their order.
  void finish(const Columns& columns, LabelledRows& rows) const {
    const bool unsure =
        columns.separator == ';' && std::ranges::none_of(points_, &PointsOfThousands::has_decimals);
    for (std::size_t column = 0; column < words_.size(); ++column)
      points_[column].refuse(columns.names[column], unsure);
    std::size_t feature = 0;
    for (std::size_t column = 0; column < words_.size(); ++column) {
      if (column == columns.label) continue;
      if (!words_[column].empty())
        number_words(words_[column], columns.names[column], feature, rows);
      ++feature;
    }
    for (const auto& [column, place] : too_small_)
      rows.notes.push_back(place + ": column \"" + column +
                           "\": " + std::string(too_small_for_single_precision));
  }

 private:
  float number_of(const TextLine& line, const Columns& columns, std::size_t column,
                  const std::string& cell) {
    const double number = number_in(line, columns, column, cell);
    const std::string& name = columns.names[column];
    const auto kept = in_single_precision(number);
    if (!kept) defect(line, name, beyond_single_precision(number));
    if (*kept == 0 && is_not_zero(cell)) too_small_.try_emplace(name, line.place());
    return *kept;
  }

  void number_words(const std::map<std::string, std::size_t>& words, const std::string& name,
                    std::size_t feature, LabelledRows& rows) const {
    WordColumn of{feature, name, {}};
    std::vector<float> numbers(words.size());
    for (const auto& [word, number] : words) {
      numbers[number] = static_cast<float>(of.words.size());
      of.words.push_back(word);
    }
    for (std::size_t row = 0; row < rows.labels.size(); ++row) {
      float& x = rows.x[row * rows.features + feature];
      x = numbers[static_cast<std::size_t>(x)];
    }
    rows.word_columns.push_back(std::move(of));
  }

  std::size_t rows_ = 0;
  std::vector<std::map<std::string, std::size_t>> words_;  // [column]: word, its number; or empty
  std::map<std::string, std::string> too_small_;           // [name of the column]: the first place
  std::vector<PointsOfThousands> points_;                  // [column]
};

void read_row(TextLine& line, const Columns& columns, Features& features, LabelledRows& rows) {
  for (std::size_t column = 0; column < columns.names.size(); ++column) {
    const std::string cell = read_cell(line, columns, column);
    if (column != columns.label || columns.of_targets) features.look(line, column, cell);
    if (column != columns.label) {
      rows.x.push_back(features.read(line, columns, column, cell));
    } else if (columns.of_targets) {
      rows.labels.push_back(number_in(line, columns, column, cell));
    } else {
      read_class(line, columns, cell, rows);
    }
  }
  line.end(count_text(columns.names.size(), "cell"));
  rows.lines.push_back(line.number());
  features.end_row();
}

/// Of a line above the names: a comment, unless its cells are the names, or Excel's "sep=;".
bool is_preface(TextLine& line, const Config& config) {
  if (!config.has_header) return false;
  if (line.rest().starts_with("sep=")) return true;
  if (!line.rest().starts_with('#')) return false;
  TextLine names = line;
  names.skip('#');
  const auto cells = read_cells(names, separator_of(names));
  if (std::ranges::find(cells, config.label) == cells.end()) return true;
  line.skip('#');
  return false;
}

LabelledRows read_rows(const fs::path& file, const Config& config) {
  LabelledRows rows;
  rows.file = file;
  Columns columns;
  std::vector<Features> features;  // one, when the columns are known
  each_line(file, [&](TextLine& line) {
    if (features.empty()) {
      if (is_preface(line, config)) return;
      columns = read_columns(line, config);
      features.emplace_back(columns.names.size());
      if (config.has_header) return;
    }
    if (!line.at_end()) read_row(line, columns, features.front(), rows);
  });
  rows.features = columns.names.size() - !columns.names.empty();
  if (!features.empty()) features.front().finish(columns, rows);
  rows.first_is_unnamed = columns.named && columns.label > 0 &&
                          (columns.names[0].empty() || columns.names[0] == "Unnamed: 0");
  for (std::size_t column = 0; column < columns.names.size(); ++column)
    if (column != columns.label) rows.feature_names.push_back(columns.names[column]);
  rows.names = std::move(columns.names);
  return rows;
}

LoadDataset read(Fields& fields, DataShelf& shelf) {
  Config config;
  visit(fields, config.files, shelf);
  fields.text("label", config.label, Need::required,
              "column of the class or target; its number where there is no line of names");
  fields.flag("header", config.has_header, Need::none,
              "whether the first line has the names of the columns (default: it has, and a line "
              "of numbers is refused)");
  config.header_is_judged = !fields.has("header");
  if (!fields.good()) return {};
  const std::string name = "csv " + config.label +
                           (config.header_is_judged ? ""
                            : config.has_header     ? " named"
                                                    : " unnamed");
  return read_labelled_files(
      shelf, name, config.files, [config](const fs::path& file) { return read_rows(file, config); },
      [](LabelledRows& train, LabelledRows& test) {
        leave_out_row_numbers(train, test);
        number_words(train, test);
      });
}

}  // namespace

extern const DatasetEntry csv_entry{page, partitioned<read>};

}  // namespace gradrace
