#include "distributions/fit/rows/row_values.h"

#include <algorithm>
#include <charconv>

#include "distributions/fit/readers/cell_time.h"
#include "distributions/fit/readers/column_words.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

/// Whether no zone stands behind a stamp's clock.
bool has_no_zone(std::string_view stamp) {
  return stamp.find_first_of("zZ+-U", std::min(stamp.find(':'), stamp.size())) ==
         std::string_view::npos;
}

/// In seconds, by cells or name; 0: unknown.
double unit_of(const std::string& name, bool seconds) {
  double unit = seconds ? 1 : 0;
  for (const auto& word : words_of(name)) {
    if (!seconds) unit = seconds_of_unit(word).value_or(unit);
  }
  return unit;
}

}  // namespace

/// Refuses columns of different units.
void RowValues::check_units(const std::string& name, bool seconds) {
  const double unit = unit_of(name, seconds);
  const auto& first = columns_.times.front();
  if (name == first) unit_ = {unit, seconds};
  const bool unknown = unit * unit_.first == 0 && seconds == unit_.second;
  if (unit == unit_.first || unknown) return;
  throw TraceError(
      "column",
      table_.file.string() + ": columns " + first + " and " + name + " are of different units",
      "columns of one unit, which is said in all cells or in none");
}

/// Of a column of whole numbers, one of which a double does not hold, as stamps in ns are; else
/// empty.
std::vector<std::int64_t> RowValues::whole_numbers(std::size_t column) const {
  constexpr std::size_t digits = 16;
  std::vector<std::int64_t> numbers;
  bool is_long = false;
  for (const auto& row : table_.rows) {
    const auto cell = trimmed(row[column]);
    const char* const end = cell.data() + cell.size();
    std::int64_t number = 0;
    if (std::from_chars(cell.data(), end, number) != std::from_chars_result{end, std::errc()} ||
        number < 0)
      return {};
    is_long = is_long || cell.size() >= digits;
    numbers.push_back(number);
  }
  return is_long && found_.units.empty() ? numbers : std::vector<std::int64_t>();
}

/// Of ends, durations.
void RowValues::subtract_begins(const std::string& name, TimeColumn& ends) const {
  const TimeColumn begin = time_column(found_, request_.begin, false);
  const double from = unit_of(request_.begin, begin.seconds), to = unit_of(name, ends.seconds);
  if (from * to > 0 && from != to)
    throw TraceError("begin",
                     table_.file.string() + ": columns " + request_.begin + " and " + name +
                         " are of different units",
                     "columns of one unit");
  const auto whole = whole_numbers(table_.column(name, "column")),
             whole_begin = whole_numbers(table_.column(request_.begin, "begin"));
  const bool exact = !whole.empty() && !whole_begin.empty();
  for (std::size_t row = 0; row < ends.values.size(); ++row) {
    ends.values[row] = exact ? static_cast<double>(whole[row] - whole_begin[row])
                             : ends.values[row] - begin.values[row];
  }
  if (begin.stamps != ends.stamps) {
    throw TraceError("begin", table_.file.string() + ": one of " + request_.begin + " and " + name +
                                  " has dates, the other numbers");
  }
}

std::vector<double> RowValues::of(const std::string& name) {
  const std::size_t number = table_.column(name, "column");
  const bool positive = !request_.differences && request_.sum_by.empty() && request_.begin.empty();
  TimeColumn column = time_column(found_, name, positive);
  if (!request_.begin.empty()) {
    subtract_begins(name, column);
  } else if (column.stamps && !request_.differences) {
    throw TraceError(
        "column",
        table_.file.string() + ": column " + name + " has time stamps such as " +
            shown(table_.rows.front()[number]),
        "--differences, for the times from each row to the next of its learner; or --begin "
        "COLUMN --end COLUMN");
  }
  if (const auto whole = whole_numbers(number); request_.differences && !whole.empty()) {
    for (std::size_t row = 0; row < whole.size(); ++row)
      column.values[row] = static_cast<double>(whole[row] - whole.front());
  }
  check_units(name, column.seconds);
  clock_ = column.clock;
  local_ = column.stamps && has_no_zone(table_.rows.front()[number]);
  if (!column.note.empty() && std::ranges::find(found_.notes, column.note) == found_.notes.end())
    found_.notes.push_back(column.note);
  if (column.seconds && !std::exchange(told_seconds_, true) && found_.units.empty())
    found_.notes.push_back("times are in seconds, by the units in the cells" +
                           clock_text(column, number));
  return std::move(column.values);
}

/// How a cell such as "1:25" was read; empty: there is none.
std::string RowValues::clock_text(const TimeColumn& column, std::size_t number) const {
  for (std::size_t row = 0; row < column.values.size(); ++row) {
    const auto& cell = table_.rows[row][number];
    if (cell.find(':') != cell.npos)
      return ", " + shown(cell) + " for " + short_number(column.values[row]);
  }
  return {};
}

}  // namespace gradrace
