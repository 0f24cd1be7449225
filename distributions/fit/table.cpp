#include "distributions/fit/table.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "sim/hash.h"
#include "sim/reading/edit_distance.h"
#include "sim/reading/no_text.h"
#include "sim/reading/packed_file.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

/// Takes a CSV text apart, row by row.
class Rows {
 public:
  Rows(const fs::path& file, std::string_view text, const TableShape& shape)
      : file_(file), rest_(text), separator_(shape.separator), comments_(shape.comments) {
    line_ += static_cast<std::size_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(shape.begin), '\n'));
    rest_ = without_mark(rest_.substr(shape.begin));
  }

  /// The next row that is no empty line; false at the end.
  bool next(std::vector<std::string>& cells) {
    while (!rest_.empty() && (at_line_end() || at_comment())) {
      rest_.remove_prefix(at_line_end() ? 0 : std::min(rest_.find('\n'), rest_.size()));
      end_line();
    }
    if (rest_.empty()) return false;
    begin_ = line_;
    cells.clear();
    do {
      cells.push_back(rest_.starts_with('"') ? quoted_cell() : plain_cell());
    } while (skip(separator_));
    ended_ = !rest_.empty();
    if (ended_) end_line();
    return true;
  }

  /// Where the row begins.
  std::size_t line() const { return begin_; }

  /// Whether the row's line has an end.
  bool ended() const { return ended_; }

 private:
  bool at_comment() const { return comments_ && rest_.starts_with('#'); }
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
    const char ends[] = {separator_, '\n'};
    std::string_view cell = rest_.substr(0, rest_.find_first_of({ends, 2}));
    rest_.remove_prefix(cell.size());
    if (!rest_.starts_with(separator_) && cell.ends_with('\r')) cell.remove_suffix(1);
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
    if (!rest_.empty() && !rest_.starts_with(separator_) && !at_line_end()) {
      defect(std::string(separator_ == ',' ? "expected a comma after the quote"
                                           : "expected a separator after the quote") +
             (rest_.starts_with(" \"")
                  ? "; of a table that R wrote: write.csv(x, row.names = FALSE)"
                  : ""));
    }
    return cell;
  }

  [[noreturn]] void defect(const std::string& what) const {
    throw TraceError("path", file_.string() + ":" + std::to_string(begin_) + ": " + what);
  }

  const fs::path& file_;
  std::string_view rest_;
  const char separator_;
  const bool comments_;
  bool ended_ = false;
  std::size_t line_ = 1, begin_ = 1;
};

/// What a line with too few cells or too many may be.
std::string separator_hint(const std::vector<std::string>& names,
                           const std::vector<std::string>& cells) {
  if (cells.size() == names.size() + 1 && trimmed(cells.back()).empty())
    return "; a separator stands at the end of the line, and none at that of the first";
  if (cells.size() == names.size() + 1 && trimmed(cells.front()) == "1")
    return "; rows have a number of their own without a name: in R, row.names = FALSE leaves it "
           "out";
  if (names.size() > 1 && cells.size() > names.size())
    return "; a decimal comma separates too, unless the number is in quotes, and a column without "
           "a "
           "name needs its separator";
  if (names.size() > 1 && cells.size() > 1) return "; a blank cell at the end needs its separator";
  const std::string& one = names.front();
  for (const auto& [separator, name] : {std::pair{';', "semicolons"}, {'\t', "tabs"}}) {
    if (one.find(separator) != std::string::npos)
      return std::string(
                 "; the cells of a row are separated by commas, semicolons or tabs, and by "
                 "the same in all: the first line has ") +
             name;
  }
  return "; the cells of a row are separated by commas, semicolons, tabs, | or blanks";
}

}  // namespace

bool is_number(std::string_view cell) {
  double number = 0;
  return parse_number(cell, number);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) {
    if (!name.empty()) text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  while (!text.empty() && blanks.find(text.front()) != std::string_view::npos)
    text.remove_prefix(1);
  while (!text.empty() && blanks.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

std::string lowercase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  return "\"" + std::string(text.substr(0, most)) + (text.size() > most ? "..." : "") + "\"";
}

std::string read_trace_file(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error)) throw TraceError("path", file.string() + ": there is no such file");
  std::string text;
  try {
    const Bytes bytes = read_packed(file, most_bytes_of_text);
    text.assign(bytes.begin(), bytes.end());
  } catch (const std::runtime_error& why) {
    throw TraceError("path", why.what());
  }
  if (const auto other = no_text(text, file.string()))
    throw TraceError("path", file.string() + ": " + other->what, other->allowed);
  if (const auto zero = text.find('\0'); zero != std::string::npos)
    throw TraceError(
        "path",
        file.string() + ":" +
            std::to_string(1 + std::count(text.begin(),
                                          text.begin() + static_cast<std::ptrdiff_t>(zero), '\n')) +
            ": holds a zero byte, so that it is no text");
  return text;
}

std::size_t Table::column(std::string_view name, std::string_view key) const {
  const auto count = std::count(names.begin(), names.end(), name);
  const auto at = std::find(names.begin(), names.end(), name) - names.begin();
  if (count == 1 && !name.empty()) return static_cast<std::size_t>(at);
  std::string allowed = listed(names);
  std::vector<std::string_view> known(names.begin(), names.end());
  std::erase(known, "");
  const auto nearest = nearest_name(name, known);
  if (count == 0 && !nearest.empty()) allowed += "; did you mean " + shown(nearest) + "?";
  if (count > 1) allowed += "; rename all but one of them in the line of names";
  throw TraceError(
      key,
      file.string() + " has " + (count > 1 ? "more than one" : "no") + " column " + shown(name),
      allowed);
}

std::vector<std::string_view> Table::cells(std::size_t column) const {
  std::vector<std::string_view> cells;
  for (const auto& row : rows) cells.push_back(trimmed(row[column]));
  return cells;
}

Table read_table(const fs::path& file) { return table_of(file, read_trace_file(file), {}); }

Table table_of(const fs::path& file, std::string_view text, const TableShape& shape) {
  Hash hash;
  hash.add_bytes(text);
  Table table{file, hash.hex(), {}, {}, {}};
  Rows rows(file, text, shape);
  if (!rows.next(table.names)) throw TraceError("path", file.string() + ": is empty");
  if (std::ranges::all_of(table.names, is_number)) {
    throw TraceError("path",
                     file.string() + ":" + std::to_string(rows.line()) +
                         ": is a row of numbers where a line of names is needed",
                     table.names.size() == 1 ? "a first line \"time\""
                     : table.names.size() == 2
                         ? "a first line such as \"worker,time\""
                         : "a first line of " + std::to_string(table.names.size()) +
                               " names, such as \"step,worker,time\"");
  }
  std::vector<std::string> cells;
  while (rows.next(cells)) {
    if (cells.size() != table.names.size()) {
      table.cut = shape.cut && !rows.ended() && cells.size() < table.names.size();
      if (table.cut) break;
      throw TraceError("path", file.string() + ":" + std::to_string(rows.line()) + ": " +
                                   std::to_string(cells.size()) + " fields, the first line has " +
                                   std::to_string(table.names.size()) +
                                   separator_hint(table.names, cells));
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

}  // namespace gradrace
