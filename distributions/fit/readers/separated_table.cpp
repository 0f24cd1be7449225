#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "distributions/fit/readers/aligned_table.h"
#include "distributions/fit/readers/cell_time.h"
#include "distributions/fit/readers/column_words.h"
#include "distributions/fit/readers/found_table.h"
#include "distributions/fit/readers/time_column.h"
#include "sim/message_text.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

struct Line {
  std::size_t begin;
  std::string_view text;
  bool comment;
};

/// The first lines that are not empty.
std::vector<Line> first_lines(std::string_view text) {
  constexpr std::size_t enough = 100;
  std::vector<Line> lines;
  for (std::size_t at = 0; at < text.size() && lines.size() < enough;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (at == 0) line = without_mark(line);
    if (!trimmed(line).empty()) lines.push_back({at, line, line.starts_with('#')});
    at = end + 1;
  }
  return lines;
}

std::size_t cells_of(std::string_view line, char separator) {
  std::size_t count = 1;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == separator && !quoted) ++count;
  }
  return count;
}

/// The commonest number of cells in lines that are no comments, and the share of lines with it.
std::pair<std::size_t, double> commonest(const std::vector<Line>& lines, char separator) {
  std::map<std::size_t, std::size_t> counts;
  std::size_t all = 0;
  for (const auto& line : lines) {
    if (line.comment) continue;
    ++counts[cells_of(line.text, separator)];
    ++all;
  }
  if (counts.empty()) return {1, 0};
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
  return {most->first, static_cast<double>(most->second) / static_cast<double>(all)};
}

/// The one that a first line such as "sep=;" says; else the one that splits most lines into as many
/// cells, the line of names above all; and whether it splits that.
std::pair<char, bool> separator_of(const std::vector<Line>& lines) {
  constexpr std::string_view says = "sep=";
  const std::string_view first = lines.empty() ? "" : lines.front().text.substr(0, says.size() + 1);
  if (first.starts_with(says) && first.find_first_of(",;\t|") == says.size())
    return {first.back(), true};
  char best = ',';
  std::pair<bool, double> best_rank{false, 0};
  for (const char separator : {',', ';', '\t', '|'}) {
    const auto [cells, share] = commonest(lines, separator);
    if (cells < 2) continue;
    const auto names_at = std::ranges::find_if(lines, [&](const auto& line) {
      return !line.comment && cells_of(line.text, separator) > 1;
    });
    const bool names = names_at != lines.end() && cells_of(names_at->text, separator) == cells;
    if (std::pair(names, share) > best_rank) {
      best = separator;
      best_rank = {names, share};
    }
  }
  return {best, best_rank.first};
}

/// Whether these are numbers with commas, a line each below a name.
bool is_one_column_of_commas(const std::vector<Line>& lines) {
  std::size_t rows = 0;
  bool name = true;
  for (const auto& line : lines) {
    if (line.comment) continue;
    if (std::exchange(name, false)) {
      if (line.text.find_first_of(",;\t") != std::string_view::npos) return false;
      continue;
    }
    const bool time = cell_time(line.text, DecimalMark::comma).has_value() ||
                      cell_time(line.text, DecimalMark::point).has_value();
    if (!time || line.text.find(',') == std::string_view::npos) return false;
    ++rows;
  }
  return rows > 0;
}

/// "ms" of "[ms]" and "(ms)".
std::string_view bare_unit(std::string_view cell) {
  cell = trimmed(cell);
  const bool enclosed = (cell.starts_with('[') && cell.ends_with(']')) ||
                        (cell.starts_with('(') && cell.ends_with(')'));
  return enclosed ? trimmed(cell.substr(1, cell.size() - 2)) : cell;
}

bool is_unit(std::string_view cell) {
  cell = trimmed(cell);
  return !cell.empty() && cell.size() <= 6 && !is_number(cell) &&
         std::ranges::none_of(cell, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// A row below the names that has units alone, one of time among them.
bool is_row_of_units(const std::vector<std::string>& cells) {
  return std::ranges::any_of(
             cells,
             [](const auto& cell) { return seconds_of_unit(bare_unit(cell)).has_value(); }) &&
         std::ranges::all_of(
             cells, [](const auto& cell) { return trimmed(cell).empty() || is_unit(cell); });
}

/// "---|:--:", as below the names of a table in Markdown.
bool is_rule(const std::vector<std::string>& cells) {
  return std::ranges::all_of(cells,
                             [](const auto& cell) {
                               return trimmed(cell).find_first_not_of("-:") ==
                                      std::string_view::npos;
                             }) &&
         std::ranges::any_of(
             cells, [](const auto& cell) { return cell.find("---") != std::string::npos; });
}

/// Whether the first row has names where the last has numbers, as pandas writes columns of two
/// levels.
bool has_two_lines_of_names(const Table& table) {
  if (table.rows.size() < 3) return false;
  bool names = false;
  for (std::size_t i = 0; i < table.names.size(); ++i) {
    const std::string& cell = table.rows.front()[i];
    if (is_blank(cell)) continue;
    names = !cell_time(cell, DecimalMark::point) &&
            cell_time(table.rows.back()[i], DecimalMark::point).has_value();
    if (!names) return false;
  }
  return names;
}

constexpr std::string_view summary_words[] = {
    "mean", "avg", "average", "total",   "totals", "sum",     "std",   "stdev", "stddev", "sd",
    "min",  "max", "minimum", "maximum", "median", "overall", "count", "all",   "summary"};

/// Leaves out rows at the end that sum up those above: "mean" where these have numbers.
void leave_out_summary(FoundTable& found) {
  Table& table = found.table;
  const auto sums_up = [](const std::vector<std::string>& row) {
    const auto words = words_of(row.front());
    return words.size() == 1 && !is_number(row.front()) && has_word(words, summary_words);
  };
  std::size_t count = 0;
  while (count < table.rows.size() && sums_up(table.rows[table.rows.size() - count - 1])) ++count;
  const auto end = table.rows.end() - static_cast<std::ptrdiff_t>(count);
  const auto has_number = [](const auto& row) { return is_number(row.front()); };
  if (count == 0 || end == table.rows.begin() || table.names.size() < 2 ||
      !std::all_of(table.rows.begin(), end, has_number))
    return;
  found.notes.push_back("left out: " + count_text(count, "row") +
                        " at the end that sum up those above, such as " + shown(end->front()));
  found.plain = false;
  table.rows.erase(end, table.rows.end());
  table.lines.resize(table.rows.size());
}

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(separator, at), line.size());
    cells.push_back(trimmed(line.substr(at, end - at)));
    at = end + 1;
  }
  return cells;
}

/// Before lines of `cells` cells, with numbers from some line on: the last above the names of a
/// preface, of which a line has fewer or more; null where there is none.
const Line* last_of_preface(const std::vector<Line>& lines, char separator, std::size_t cells) {
  const Line *last = nullptr, *names = nullptr;
  for (const auto& line : lines) {
    if (line.comment) continue;
    const auto here = split(line.text, separator);
    if (here.size() != cells) {
      last = &line;
      names = nullptr;
    } else if (std::ranges::any_of(here, is_number)) {
      return names == nullptr ? nullptr : last;
    } else if (!is_row_of_units({here.begin(), here.end()})) {
      if (last != nullptr && names != nullptr) last = names;
      names = &line;
    }
  }
  return nullptr;
}

/// Where the line of names begins, and what is said of the lines before.
std::size_t begin_of_names(const fs::path& file, std::string_view text,
                           const std::vector<Line>& lines, char separator,
                           std::vector<std::string>& notes) {
  const std::size_t cells = commonest(lines, separator).first;
  const Line* comment = nullptr;
  const Line* preface = cells > 1 ? last_of_preface(lines, separator, cells) : nullptr;
  std::vector<std::string_view> left_out;
  for (const auto& line : lines) {
    const std::size_t here = cells_of(line.text, separator);
    if (line.comment) {
      if (here == cells) comment = &line;
      continue;
    }
    if (line.text.starts_with("==") || line.text.starts_with("sep=") || (cells > 1 && here == 1) ||
        &line <= preface) {
      left_out.push_back(trimmed(line.text));
      continue;
    }
    const auto names = split(line.text, separator);
    if (comment && std::ranges::any_of(names, is_number)) {
      const std::size_t words = comment->text.find_first_not_of("# ");
      if (words != std::string_view::npos) {
        notes.emplace_back("names of columns from the comment above them");
        return static_cast<std::size_t>(comment->text.data() - text.data()) + words;
      }
    }
    if (!left_out.empty()) {
      if (std::ranges::any_of(names, is_number)) {
        throw TraceError("path",
                         file.string() + ": " + shown(left_out.back()) +
                             " has one cell, and the line below it is no line of names",
                         "a line such as \"worker,time\" above the rows");
      }
      notes.push_back("left out before the line of names: " + count_text(left_out.size(), "line") +
                      " such as " + shown(left_out.front()));
    }
    return line.begin;
  }
  return 0;
}

}  // namespace

FoundTable separated_table(const fs::path& file, std::string_view text) {
  auto lines = first_lines(text);
  auto [separator, splits_names] = separator_of(lines);
  const auto aligned = splits_names ? std::nullopt : aligned_table(text);
  if (aligned) {
    text = *aligned;
    lines = first_lines(text);
    separator = '\t';
  }
  TableShape shape{.separator = separator, .comments = true, .cut = true};
  FoundTable found;
  if (is_one_column_of_commas(lines)) shape.separator = '\0';
  shape.begin = begin_of_names(file, text, lines, shape.separator, found.notes);
  const bool comments = std::ranges::count(lines, true, &Line::comment) > 0;
  found.table = table_of(file, text, shape);
  Table& table = found.table;
  for (auto& name : table.names) {
    const std::string bare(trimmed(name));
    found.plain = found.plain && bare == name;
    name = bare;
  }
  if (is_row_of_units(table.rows.front()) && table.rows.size() > 1) {
    for (const auto& cell : table.rows.front()) found.units.emplace_back(bare_unit(cell));
    table.rows.erase(table.rows.begin());
    table.lines.erase(table.lines.begin());
    found.notes.emplace_back("row of units below the names: times are in seconds");
  }
  if (is_rule(table.rows.front())) {
    table.rows.erase(table.rows.begin());
    table.lines.erase(table.lines.begin());
    if (table.rows.empty())
      throw TraceError("path", file.string() + ": has no rows, only a line of names");
  }
  if (has_two_lines_of_names(table))
    throw TraceError("path",
                     place_of(table, 0) + "is a second line of names, such as " +
                         shown(*std::ranges::find_if_not(table.rows.front(), is_blank)),
                     "one line of names, as of df.columns = df.columns.map('_'.join) in pandas");
  if (shape.separator != ',') {
    found.notes.emplace_back(aligned                   ? "cells are separated by blanks"
                             : shape.separator == ';'  ? "cells are separated by semicolons"
                             : shape.separator == '\t' ? "cells are separated by tabs"
                             : shape.separator == '|'  ? "cells are separated by |"
                                                       : "a line is one cell");
  }
  if (table.cut) found.notes.emplace_back("the last row was cut, and is left out");
  leave_out_summary(found);
  found.plain = found.plain && !comments && !table.cut && shape.begin == 0 &&
                shape.separator == ',' && found.units.empty();
  return found;
}

}  // namespace gradrace
