#include "distributions/fit/trace.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <utility>

#include "sim/hash.h"
#include "sim/reading/edit_distance.h"
#include "sim/reading/rest_of.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

/// Takes a CSV text apart, row by row.
class Rows {
 public:
  Rows(const fs::path& file, std::string_view text) : file_(file), rest_(text) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (rest_.starts_with(byte_order_mark)) rest_.remove_prefix(byte_order_mark.size());
  }

  /// The next row that is no empty line; false at the end.
  bool next(std::vector<std::string>& cells) {
    while (!rest_.empty() && at_line_end()) end_line();
    if (rest_.empty()) return false;
    begin_ = line_;
    cells.clear();
    do {
      cells.push_back(rest_.starts_with('"') ? quoted_cell() : plain_cell());
    } while (skip(','));
    if (!rest_.empty()) end_line();
    return true;
  }

  /// Where the row begins.
  std::size_t line() const { return begin_; }

 private:
  bool at_line_end() const { return rest_.starts_with('\n') || rest_.starts_with("\r\n"); }

  void end_line() {
    skip('\r');
    skip('\n');
    ++line_;
  }

  bool skip(char c) {
    const bool found = rest_.starts_with(c);
    if (found) rest_.remove_prefix(1);
    return found;
  }

  std::string plain_cell() {
    std::string_view cell = rest_.substr(0, rest_.find_first_of(",\n"));
    rest_.remove_prefix(cell.size());
    if (!rest_.starts_with(',') && cell.ends_with('\r')) cell.remove_suffix(1);
    return std::string(cell);
  }

  std::string quoted_cell() {
    std::string cell;
    rest_.remove_prefix(1);
    while (true) {
      const std::size_t end = rest_.find('"');
      if (end == std::string_view::npos) defect("a quote is not closed");
      cell += rest_.substr(0, end);
      line_ += static_cast<std::size_t>(std::count(rest_.begin(), rest_.begin() + end, '\n'));
      rest_.remove_prefix(end + 1);
      if (!skip('"')) break;
      cell += '"';
    }
    if (!rest_.empty() && !rest_.starts_with(',') && !at_line_end()) {
      defect("expected a comma after the quote");
    }
    return cell;
  }

  [[noreturn]] void defect(const std::string& what) const {
    throw TraceError("path", file_.string() + ":" + std::to_string(begin_) + ": " + what);
  }

  const fs::path& file_;
  std::string_view rest_;
  std::size_t line_ = 1, begin_ = 1;
};

bool parse_time(const std::string& cell, double& time) {
  return parse_number(cell, time) && std::isfinite(time) && time > 0;
}

double time_in(const Table& table, std::size_t row, std::size_t column) {
  const std::string& cell = table.rows[row][column];
  double time = 0;
  if (parse_time(cell, time)) return time;
  const auto others =
      std::count_if(table.rows.begin() + static_cast<std::ptrdiff_t>(row) + 1, table.rows.end(),
                    [&](const auto& cells) { return !parse_time(cells[column], time); });
  throw TraceError("column",
                   table.file.string() + ":" + std::to_string(table.lines[row]) + ": " +
                       table.names[column] + " must be a time, got " + shown(cell) +
                       (others > 0 ? "; so must " + std::to_string(others) + " more below" : ""),
                   "a finite number > 0");
}

bool is_number(std::string_view cell) {
  double number = 0;
  return parse_number(cell, number);
}

bool cancelled_in(const Table& table, std::size_t row, std::size_t column) {
  std::string cell = table.rows[row][column];
  for (char& c : cell) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (cell == "1" || cell == "true") return true;
  if (cell == "0" || cell == "false") return false;
  throw TraceError("censored",
                   table.file.string() + ":" + std::to_string(table.lines[row]) + ": " +
                       table.names[column] + " must say whether the minibatch was cancelled, got " +
                       shown(table.rows[row][column]),
                   "1 or true (cancelled), 0 or false");
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  return "\"" + std::string(text.substr(0, most)) + (text.size() > most ? "..." : "") + "\"";
}

std::string read_trace_file(const fs::path& file) {
  std::ifstream stream;
  std::error_code error;
  if (!fs::exists(file, error)) throw TraceError("path", file.string() + ": there is no such file");
  if (!fs::is_directory(file)) stream.open(file, std::ios::binary);
  std::string text = rest_of(stream);
  if (!stream.is_open() || stream.bad())
    throw TraceError("path", file.string() + ": cannot be read");
  if (text.starts_with('\x1F'))
    throw TraceError("path", file.string() + ": is compressed", "the file as gunzip makes it");
  if (const auto zero = text.find('\0'); zero != std::string::npos)
    throw TraceError(
        "path",
        file.string() + ":" +
            std::to_string(1 + std::count(text.begin(),
                                          text.begin() + static_cast<std::ptrdiff_t>(zero), '\n')) +
            ": holds a zero byte, so that it is no text");
  return text;
}

void sort_learners(std::vector<std::string>& names) {
  std::map<std::string, double> numbers;
  for (const auto& name : names) {
    double number = 0;
    if (!parse_number(name, number)) return std::sort(names.begin(), names.end());
    numbers[name] = number;
  }
  std::sort(names.begin(), names.end(), [&](const auto& a, const auto& b) {
    return std::pair(numbers[a], a) < std::pair(numbers[b], b);
  });
}

std::size_t Table::column(std::string_view name, std::string_view key) const {
  const auto count = std::count(names.begin(), names.end(), name);
  const auto at = std::find(names.begin(), names.end(), name) - names.begin();
  if (count == 1 && !name.empty()) return static_cast<std::size_t>(at);
  std::string allowed;
  std::vector<std::string_view> known;
  for (const auto& each : names) {
    if (each.empty()) continue;
    allowed += (allowed.empty() ? "" : ", ") + each;
    known.push_back(each);
  }
  const auto nearest = nearest_name(name, known);
  if (count == 0 && !nearest.empty()) allowed += "; did you mean " + shown(nearest) + "?";
  throw TraceError(
      key,
      file.string() + " has " + (count > 1 ? "more than one" : "no") + " column " + shown(name),
      allowed);
}

Table read_table(const fs::path& file) {
  const std::string text = read_trace_file(file);
  Hash hash;
  hash.add_bytes(text);
  Table table{file, hash.hex(), {}, {}, {}};
  Rows rows(file, text);
  if (!rows.next(table.names)) throw TraceError("path", file.string() + ": is empty");
  if (std::ranges::all_of(table.names, is_number)) {
    throw TraceError("path",
                     file.string() + ":" + std::to_string(rows.line()) +
                         ": is a row of numbers where a line of names is needed",
                     "a first line such as \"worker,time\"");
  }
  std::vector<std::string> cells;
  while (rows.next(cells)) {
    if (cells.size() != table.names.size()) {
      throw TraceError("path", file.string() + ":" + std::to_string(rows.line()) + ": " +
                                   std::to_string(cells.size()) + " fields, the first line has " +
                                   std::to_string(table.names.size()));
    }
    table.rows.push_back(cells);
    table.lines.push_back(rows.line());
  }
  if (table.rows.empty()) {
    throw TraceError("path", file.string() + ": has no rows, only a line of names");
  }
  return table;
}

bool parse_number(std::string_view cell, double& number) {
  while (cell.starts_with(' ')) cell.remove_prefix(1);
  while (cell.ends_with(' ')) cell.remove_suffix(1);
  const char* end = cell.data() + cell.size();
  const auto [rest, error] = std::from_chars(cell.data(), end, number);
  return error == std::errc() && rest == end;
}

std::size_t Trace::size() const {
  std::size_t count = 0;
  for (const auto& times : series) count += times.size();
  return count;
}

Trace trace_of(const Table& table, std::string_view column, std::string_view learner_column,
               std::string_view cancelled_column) {
  const std::size_t time = table.column(column, "column");
  const bool by_learner = !learner_column.empty(), cancels = !cancelled_column.empty();
  const std::size_t learner = by_learner ? table.column(learner_column, "learner_column") : 0;
  const std::size_t cancel = cancels ? table.column(cancelled_column, "censored") : 0;
  std::map<std::string, std::vector<double>> series;
  std::map<std::string, std::vector<bool>> cancelled;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string name = by_learner ? table.rows[row][learner] : "";
    series[name].push_back(time_in(table, row, time));
    if (cancels) cancelled[name].push_back(cancelled_in(table, row, cancel));
  }
  Trace trace{table.file, table.hash, {}, {}};
  for (const auto& [name, times] : series) trace.learners.push_back(name);
  sort_learners(trace.learners);
  for (const auto& name : trace.learners) {
    trace.series.push_back(std::move(series[name]));
    if (cancels) trace.cancelled.push_back(std::move(cancelled[name]));
  }
  return trace;
}

Trace wide_trace_of(const Table& table, const std::vector<std::string>& columns) {
  Trace trace{table.file, table.hash, columns, {}};
  for (const auto& name : columns) {
    const std::size_t column = table.column(name, "column");
    auto& times = trace.series.emplace_back();
    for (std::size_t row = 0; row < table.rows.size(); ++row)
      times.push_back(time_in(table, row, column));
  }
  return trace;
}

}  // namespace gradrace
