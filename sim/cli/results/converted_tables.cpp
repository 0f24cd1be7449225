#include "sim/cli/results/converted_tables.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "sim/cli/python.h"
#include "sim/cli/results/pages.h"

namespace gradrace {

namespace {

constexpr const char* converter = "tables/convert.py";
constexpr std::size_t rows_at_once = 1 << 15;

/// analysis/tables/convert.py reads it.
std::string column_file(const CsvPage& page) {
  const std::string name(page.name);
  return name.substr(0, name.find('.')) + ".columns" + std::string(temporary_ending);
}

std::string types_text(const CsvPage& page) {
  constexpr const char* names[] = {"double", "int64", "string"};
  nlohmann::ordered_json types = nlohmann::ordered_json::object();
  for (const Column& column : page.columns)
    types[column.name] = names[static_cast<std::size_t>(column.type)];
  return types.dump();
}

/// The number that a text is.
template <class Number>
Number number_of(std::string_view text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Some rows of a column as Arrow lays them out.
struct ColumnOfRows {
  CellType type;
  std::string known = {};   // a bit a row
  std::string values = {};  // eight bytes a row, or the ends of texts, of four
  std::string texts = {};

  void add(const Cell& cell, std::size_t row) {
    if (row % 8 == 0) known += '\0';
    if (cell.type != CellType::none)
      known.back() = static_cast<char>(known.back() | (1 << row % 8));
    if (type == CellType::number) {
      const bool is_text = cell.type == CellType::text;  // of a swept path
      add_bytes(values, is_text ? number_of<double>(cell.text) : cell.number);
    } else if (type == CellType::integer) {
      const bool is_text = cell.type == CellType::text;
      const auto value =
          is_text ? number_of<std::int64_t>(cell.text) : static_cast<std::int64_t>(cell.integer);
      if (!is_text && value < 0)
        throw std::runtime_error(std::to_string(cell.integer) +
                                 " is too large for a column of integers; collect --format csv");
      add_bytes(values, value);
    } else {
      if (values.empty()) add_bytes(values, std::int32_t{0});
      texts += cell.text;
      add_bytes(values, static_cast<std::int32_t>(texts.size()));
    }
  }
};

class ColumnWriter final : public TableWriter {
 public:
  ColumnWriter(Append append, const CsvPage& page, std::size_t columns)
      : TableWriter(std::move(append), column_file(page), columns) {
    for (const Column& column : page.columns) columns_.push_back({column.type});
  }

  void begin_run(std::size_t point, std::uint32_t replica, const std::string&) override {
    of_run_ = {point, replica};
  }
  void add_row(CellRow row) override {
    for (std::size_t i = 0; i < columns_.size(); ++i)
      columns_[i].add(i < of_run_.size() ? of_run_[i] : row[i - of_run_.size()], rows_);
    if (++rows_ == rows_at_once) add_end();
  }
  void add_end() override {
    if (rows_ == 0) return;
    add_bytes(text_, std::uint64_t{std::exchange(rows_, 0)});
    for (ColumnOfRows& column : columns_) {
      text_.append(column.known).append(column.values).append(column.texts);
      column = {column.type};
    }
  }

 private:
  std::vector<Cell> of_run_;
  std::vector<ColumnOfRows> columns_;
  std::size_t rows_ = 0;
};

const char* name_of(Format format) { return format == Format::sqlite ? "sqlite" : "parquet"; }

}  // namespace

void check_format(Format format) {
  if (format != Format::csv && run_python(converter, {name_of(format)}) != 0)
    throw std::runtime_error(std::string("--format ") + name_of(format) +
                             " cannot be written; ./setup.sh installs what that needs");
}

std::unique_ptr<TableWriter> column_writer(TableWriter::Append append, const CsvPage& page,
                                           std::size_t columns) {
  return std::make_unique<ColumnWriter>(std::move(append), page, columns);
}

void convert(OutputFolder& files, const std::vector<CsvPage>& tables, Format format) {
  files.close();
  std::vector<std::string> words{name_of(format)};
  for (const CsvPage& page : tables) {
    words.push_back(files.aside() / column_file(page));
    words.push_back(types_text(page));
  }
  if (run_python(converter, words) != 0)
    throw std::runtime_error(std::string("the results could not be written as ") + name_of(format) +
                             "; they are as they were");
  for (const CsvPage& page : tables)
    files.replace(column_file(page),
                  format == Format::sqlite ? database : parquet_name(std::string(page.name)));
}

}  // namespace gradrace
