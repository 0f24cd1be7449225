#include "distributions/fit/readers/time_column.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "distributions/fit/readers/cell_time.h"
#include "distributions/fit/readers/column_words.h"

namespace gradrace {

namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

/// The first rows of a column in which a number has a mark: one that stands before decimals, or one
/// that may stand there or between thousands ("1,234", "1.234").
struct Marks {
  std::optional<std::size_t> point, comma, open_point, open_comma;
  bool below_1000 = false, others = false;  // numbers without a mark
};

Marks marks_in(const Table& table, std::size_t column) {
  Marks marks;
  const auto keep = [](std::optional<std::size_t>& first, std::size_t row) {
    if (!first) first = row;
  };
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string& cell = table.rows[row][column];
    if (cell.find_first_of(",.") == std::string::npos) {
      const auto bare = trimmed(cell);
      if (!bare.empty() && bare.find_first_not_of("0123456789") == bare.npos)
        (bare.size() <= 3 ? marks.below_1000 : marks.others) = true;
      continue;
    }
    const auto by_point = cell_time(cell, DecimalMark::point),
               by_comma = cell_time(cell, DecimalMark::comma);
    if (by_point && by_comma) {
      if (by_point->value == by_comma->value) continue;
      keep(cell.find(',') == std::string::npos ? marks.open_point : marks.open_comma, row);
    } else if (by_point) {
      keep(marks.point, row);
    } else if (by_comma) {
      keep(marks.comma, row);
    }
  }
  return marks;
}

bool others_have_commas(const Table& table, std::size_t column) {
  for (std::size_t other = 0; other < table.names.size(); ++other) {
    if (other != column && marks_in(table, other).comma) return true;
  }
  return false;
}

[[noreturn]] void refuse_mark(const Table& table, std::size_t row, std::size_t column,
                              const std::string& what) {
  throw TraceError(
      "column",
      place_of(table, row) + table.names[column] + " has " + shown(table.rows[row][column]) + what,
      "numbers with a decimal point, and without marks between thousands");
}

DecimalMark mark_of(const Table& table, std::size_t column) {
  const Marks marks = marks_in(table, column);
  if (marks.point && marks.comma) {
    refuse_mark(table, std::max(*marks.point, *marks.comma), column,
                ", and line " + std::to_string(table.lines[std::min(*marks.point, *marks.comma)]) +
                    " has " + shown(table.rows[std::min(*marks.point, *marks.comma)][column]) +
                    ": decimals are behind a comma in one and behind a point in the other");
  }
  if (marks.comma) return DecimalMark::comma;
  if (marks.point || (!marks.open_point && !marks.open_comma)) return DecimalMark::point;
  const bool commas = others_have_commas(table, column);
  if (marks.open_comma && (marks.open_point || !commas)) {
    refuse_mark(table, *marks.open_comma, column,
                ", whose comma may stand before decimals or between thousands");
  }
  if (marks.open_point && marks.below_1000 && !marks.others) {
    refuse_mark(table, *marks.open_point, column,
                ", whose point may stand before decimals or, since numbers below 1000 have none, "
                "between thousands");
  }
  if (marks.open_point && commas) {
    refuse_mark(table, *marks.open_point, column,
                ", whose point may stand before decimals or, where others have a comma there, "
                "between thousands");
  }
  return marks.open_comma ? DecimalMark::comma : DecimalMark::point;
}

/// Before a point.
std::string_view whole_part(std::string_view cell) {
  return trimmed(cell).substr(0, trimmed(cell).find('.'));
}

/// YYYYMMDDhhmmss, whose digits count no seconds.
bool is_digit_stamp(std::string_view cell) {
  const auto whole = whole_part(cell);
  if (whole.size() != 14 || whole.find_first_not_of("0123456789") != whole.npos) return false;
  const auto field = [&](std::size_t at) { return 10 * (whole[at] - '0') + whole[at + 1] - '0'; };
  const int month = field(4), day = field(6);
  return (field(0) == 19 || field(0) == 20) && month >= 1 && month <= 12 && day >= 1 && day <= 31 &&
         field(8) < 24 && field(10) < 60 && field(12) < 60;
}

/// hhmmss, perhaps without zeros at its beginning.
bool is_digit_clock(std::string_view whole) {
  if (whole.empty() || whole.size() > 6 || whole.find_first_not_of("0123456789") != whole.npos)
    return false;
  const int digits = std::stoi(std::string(whole));
  return digits < 24'00'00 && digits / 100 % 100 < 60 && digits % 100 < 60;
}

/// Whether all are hhmmss: so many numbers of which few would be by chance, nor round ones, that
/// hardly ever fall; and the name says no duration.
bool are_digit_clocks(const Table& table, std::size_t column) {
  constexpr std::size_t fewest = 12, fewest_seconds = 6, hours = 4;
  const auto whole = [&](const auto& row) { return whole_part(row[column]); };
  if (table.rows.size() < fewest || says_duration(table.names[column]) ||
      std::max(whole(table.rows.front()).size(), whole(table.rows.back()).size()) <= hours)
    return false;
  std::set<std::string> seconds;
  std::size_t falls = 0;
  int before = 0;
  for (const auto& row : table.rows) {
    if (!is_digit_clock(whole(row))) return false;
    const int digits = std::stoi(std::string(whole(row)));
    falls += digits < std::exchange(before, digits);
    seconds.emplace(
        whole(row).substr(whole(row).size() - std::min<std::size_t>(2, whole(row).size())));
  }
  return seconds.size() >= fewest_seconds && 10 * falls <= table.rows.size();
}

/// Stamps whose digits count no seconds.
void refuse_digit_stamps(const Table& table, std::size_t column) {
  const auto is_stamp = [&](const auto& row) { return is_digit_stamp(row[column]); };
  if (table.rows.empty()) return;
  const bool dates = std::ranges::all_of(table.rows, is_stamp);
  if (!dates && !are_digit_clocks(table, column)) return;
  throw TraceError("column",
                   place_of(table, 0) + table.names[column] + " has stamps such as " +
                       shown(table.rows[0][column]) + ", whose digits count no seconds" +
                       (dates ? "" : " but hours, minutes and seconds"),
                   dates ? "stamps as ISO 8601 has them, such as 2026-03-03T09:58:09"
                         : "a clock with colons, such as 09:58:09");
}

std::string mark_note(const Table& table, std::size_t column, DecimalMark mark) {
  if (mark == DecimalMark::comma) return "a comma in a number is a decimal comma";
  const bool commas = std::ranges::any_of(table.rows, [&](const auto& row) {
    const std::string& cell = row[column];
    return cell.find(',') != cell.npos && cell.find(':') == cell.npos && !is_blank(cell);
  });
  return commas ? "a comma in a number stands between thousands" : "";
}

}  // namespace

std::string place_of(const Table& table, std::size_t row) {
  return table.file.string() + ":" + std::to_string(table.lines[row]) + ": ";
}

void refuse_time(const Table& table, std::size_t row, std::size_t column, std::size_t more) {
  const std::string& cell = table.rows[row][column];
  if (row > 0 && says_time(cell) && cell.find_first_of("0123456789") == cell.npos &&
      cell != table.names[column] && std::ranges::none_of(table.rows[row], is_number))
    throw TraceError(
        "path",
        place_of(table, row) + "has names, such as " + shown(cell) + ": another table begins there",
        "a file for each table");
  const auto time = cell_time(cell, DecimalMark::point);
  const bool begins = row == 0 && time && time->value == 0;
  const bool is_clock = cell.find(':') != cell.npos;
  const bool is_log =
      10 * (more + 1) >= 9 * table.rows.size() && trimmed(cell).find(' ') != cell.npos;
  throw TraceError(
      "column",
      place_of(table, row) + table.names[column] + " must be a time, got " + shown(cell) +
          (more > 0 ? "; so must " + std::to_string(more) + " more rows below" : "") +
          (is_blank(cell) ? "; blanks are read at the end of a learner's times alone" : ""),
      std::string("a finite number > 0") +
          (is_clock ? ", 1:02.5 (minutes and seconds), or a stamp as ISO 8601 has it "
                      "(2026-03-03T09:58:09.5)"
                    : "") +
          (!begins && (is_blank(cell) || 10 * more < table.rows.size()) &&
                   cell.find_first_of("'*") == std::string::npos
               ? "; or --where '" + table.names[column] + "!=" + std::string(trimmed(cell)) +
                     "', which leaves such rows out"
               : "") +
          (begins ? "; or, where it is a running total that begins at 0, --differences" : "") +
          (is_log ? "; or, of a log, --pattern REGEX with a group of parentheses around the time"
                  : ""));
}

TimeColumn time_column(const FoundTable& found, const std::string& name, bool positive) {
  const Table& table = found.table;
  const std::size_t column = table.column(name, "column");
  refuse_digit_stamps(table, column);
  const DecimalMark mark = mark_of(table, column);
  const auto is_bad = [&](const std::vector<std::string>& cells) {
    const auto time = cell_time(cells[column], mark);
    return !is_blank(cells[column]) &&
           !(time && std::isfinite(time->value) && (time->value > 0 || !positive));
  };
  const auto bad = std::ranges::find_if(table.rows, is_bad);
  if (bad != table.rows.end())
    refuse_time(table, static_cast<std::size_t>(bad - table.rows.begin()), column,
                static_cast<std::size_t>(std::count_if(bad + 1, table.rows.end(), is_bad)));
  TimeColumn result;
  const double of_clock = says_hours_and_minutes(name) ? 60 : 1;
  constexpr std::size_t kinds = 3;  // a clock's cells have a unit
  std::size_t of_kind[kinds] = {}, first_of_kind[kinds] = {}, clocks = 0;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const auto time = cell_time(table.rows[row][column], mark);
    const bool blank = is_blank(table.rows[row][column]);
    const bool short_clock = std::ranges::count(table.rows[row][column], ':') == 1;
    result.values.push_back(blank ? nothing : time->value * (short_clock ? of_clock : 1));
    if (blank) continue;
    const bool is_clock = time->kind == CellTime::Kind::clock;
    clocks += is_clock;
    const auto kind = static_cast<std::size_t>(is_clock ? CellTime::Kind::with_unit : time->kind);
    if (of_kind[kind]++ == 0) first_of_kind[kind] = row;
  }
  const bool mixed = (of_kind[0] > 0) + (of_kind[1] > 0) + (of_kind[2] > 0) > 1;
  if (mixed) {
    const std::size_t row = of_kind[0] > 0 ? first_of_kind[0] : first_of_kind[2];
    throw TraceError("column",
                     place_of(table, row) + name + " is " + shown(table.rows[row][column]) +
                         ", which is not written like the others, with a unit or a date",
                     "units in all cells or in none");
  }
  result.stamps = of_kind[2] > 0;
  result.seconds = of_kind[0] == 0;
  result.clock = clocks > 0 && clocks == of_kind[1];
  if (!result.stamps && !result.clock) result.note = mark_note(table, column, mark);
  if (found.units.empty() || of_kind[0] == 0) return result;
  const auto unit = seconds_of_unit(found.units[column]);
  if (!unit) return result;
  result.seconds = true;
  for (double& value : result.values) value *= *unit;
  return result;
}

}  // namespace gradrace
