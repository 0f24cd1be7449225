#include "distributions/fit/readers/cell_time.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <limits>
#include <string>

#include "distributions/fit/table.h"

namespace gradrace {
namespace {

struct Unit {
  std::string_view name;
  double seconds;
};

constexpr Unit units[] = {
    {"ns", 1e-9},      {"nsec", 1e-9},        {"nanoseconds", 1e-9},  {"us", 1e-6}, {"usec", 1e-6},
    {"\u00B5s", 1e-6}, {"\u03BCs", 1e-6},     {"microseconds", 1e-6}, {"ms", 1e-3}, {"msec", 1e-3},
    {"msecs", 1e-3},   {"millisecond", 1e-3}, {"milliseconds", 1e-3}, {"s", 1},     {"sec", 1},
    {"secs", 1},       {"second", 1},         {"seconds", 1},         {"min", 60},  {"mins", 60},
    {"minutes", 60},   {"h", 3600},           {"hours", 3600}};

/// Takes a number of so many digits (0: any) off the text.
std::optional<int> take_digits(std::string_view& text, std::size_t count) {
  std::size_t found = 0;
  while (found < text.size() && std::isdigit(static_cast<unsigned char>(text[found])) != 0) ++found;
  if (found == 0 || found > 9 || (count > 0 && found != count)) return {};
  int value = 0;
  std::from_chars(text.data(), text.data() + found, value);
  text.remove_prefix(found);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

/// "12:03:04.5", "3:04"; takes it off the text.
std::optional<double> take_clock(std::string_view& text) {
  double seconds = 0;
  int parts = 0;
  do {
    const auto part = take_digits(text, 0);
    if (!part || (parts > 0 && *part > 60)) return {};
    seconds = 60 * seconds + *part;
    ++parts;
  } while (parts < 3 && take(text, ":"));
  if (parts < 2) return {};
  if (take(text, ".,")) {
    double place = 0.1;
    for (; !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0;
         text.remove_prefix(1), place /= 10)
      seconds += place * (text.front() - '0');
  }
  return seconds;
}

/// "Z", "+02:00", "-0130": seconds east of UTC.
std::optional<double> zone(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z" || text == " UTC" || text == "UTC") return 0;
  while (take(text, " ")) {
  }
  const bool west = text.starts_with('-');
  if (!take(text, "+-")) return {};
  auto hours = take_digits(text, 0);
  if (!hours) return {};
  double minutes = 0;
  if (*hours > 99) {
    minutes = *hours % 100;
    hours = *hours / 100;
  } else if (take(text, ":")) {
    const auto rest = take_digits(text, 2);
    if (!rest) return {};
    minutes = *rest;
  }
  if (!text.empty()) return {};
  return (west ? -1 : 1) * (3600.0 * *hours + 60 * minutes);
}

/// ISO 8601, and with slashes or a space.
std::optional<double> stamp(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, "-/")) return {};
  const auto month = take_digits(text, 0);
  if (!month || !take(text, "-/")) return {};
  const auto day = take_digits(text, 0);
  if (!day || !take(text, "T t_")) return {};
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return {};
  const auto clock = take_clock(text);
  const auto east = zone(text);
  if (!clock || !east) return {};
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return 86400.0 * static_cast<double>(days) + *clock - *east;
}

/// "1m20.5s", "1 h 2 min", "2h3m", and of ISO 8601 "PT1M20.5S", in any case: two units or more, or
/// behind PT; each unit once and the longest first.
std::optional<double> duration(std::string_view cell) {
  std::string text = lowercase(cell);
  const bool iso = text.starts_with('p');
  if (iso) std::erase_if(text, [](char c) { return c == 'p' || c == 't'; });
  std::string_view rest = text;
  double seconds = 0, last = std::numeric_limits<double>::infinity();
  std::size_t parts = 0;
  for (; !rest.empty(); ++parts) {
    const std::size_t end = std::min(rest.find_first_not_of("0123456789. "), rest.size());
    const std::size_t next = std::min(rest.find_first_of("0123456789", end), rest.size());
    const auto name = trimmed(rest.substr(end, next - end));
    const auto unit = name == "d" || name == "day" || name == "days" ? std::optional(86400.0)
                      : name == "m"                                  ? std::optional(60.0)
                                                                     : seconds_of_unit(name);
    double number = 0;
    if (!unit || *unit >= last || !parse_number(trimmed(rest.substr(0, end)), number)) return {};
    seconds += number * *unit;
    last = *unit;
    rest.remove_prefix(next);
  }
  if (parts < (iso ? 1 : 2)) return {};
  return seconds;
}

/// "0 days 00:00:01.5" and "1 day, 2:03:04", as pandas and Python write timedeltas, and Slurm's
/// "1-02:03:04".
std::optional<double> days_and_clock(std::string_view text) {
  const auto days = take_digits(text, 0);
  const bool hyphen = text.starts_with('-') && std::ranges::count(text, ':') == 2;
  if (!days || (!hyphen && !text.starts_with(" day"))) return {};
  text.remove_prefix(std::min(text.find_first_of("0123456789"), text.size()));
  const auto clock = take_clock(text);
  if (!clock || !text.empty()) return {};
  return 86400.0 * *days + *clock;
}

/// "1234.5" of "1,234.5", "1'234.5" or, with a decimal comma, of "1.234,5"; empty where a mark
/// stands at no thousands.
std::string without_marks(std::string_view cell, DecimalMark mark) {
  const char decimal = mark == DecimalMark::comma ? ',' : '.';
  const char between = mark == DecimalMark::comma ? '.' : ',';
  const std::size_t point = std::min(cell.find(decimal), cell.size());
  std::string text;
  std::size_t last = std::string_view::npos;  // mark between thousands
  for (std::size_t i = 0; i < point; ++i) {
    if (cell[i] != between && cell[i] != '\'') {
      text += cell[i];
      continue;
    }
    const bool first = last == std::string_view::npos;
    const std::string_view digits =
        first ? std::string_view(text) : cell.substr(last + 1, i - last - 1);
    const std::size_t count = digits.size() - (digits.find_first_of("+-") == 0);
    if (first ? count == 0 || count > 3 || digits.find('0') == digits.size() - count : count != 3)
      return {};
    last = i;
  }
  if (last != std::string_view::npos && point - last != 4) return {};
  if (point == cell.size()) return text;
  const std::string_view decimals = cell.substr(point + 1);
  if (decimals.find_first_of(".,") != std::string_view::npos) return {};
  return text + "." + std::string(decimals);
}

bool parse(std::string_view cell, DecimalMark mark, double& number) {
  if (cell.find_first_of(".,'") == std::string_view::npos) return parse_number(cell, number);
  return parse_number(without_marks(trimmed(cell), mark), number);
}

}  // namespace

std::optional<double> seconds_of_unit(std::string_view unit) {
  const auto* const found = std::ranges::find(units, trimmed(unit), &Unit::name);
  if (found == std::end(units)) return {};
  return found->seconds;
}

bool is_blank(std::string_view cell) {
  constexpr std::string_view none[] = {"", "nan", "n/a", "na", "null", "none", "-"};
  return std::ranges::find(none, lowercase(trimmed(cell))) != std::end(none);
}

/// With plain blanks for those of other kinds, which are left out between digits.
static std::string with_plain_blanks(std::string_view cell) {
  std::string plain(cell);
  for (const std::string_view blank : {"\u00A0", "\u202F", "\u2009"}) {
    for (std::size_t at = 0; (at = plain.find(blank, at)) != std::string::npos;) {
      const auto digit = [&](std::size_t i) {
        return i < plain.size() && std::isdigit(static_cast<unsigned char>(plain[i])) != 0;
      };
      const bool between = at > 0 && digit(at - 1) && digit(at + blank.size());
      plain.replace(at, blank.size(), between ? "" : " ");
    }
  }
  return plain;
}

std::optional<CellTime> cell_time(std::string_view cell, DecimalMark mark) {
  if (cell.find_first_of("\xC2\xE2") != cell.npos) {
    const std::string plain = with_plain_blanks(cell);
    if (plain != cell) return cell_time(plain, mark);
  }
  cell = trimmed(cell);
  if (cell.empty()) return {};
  double number = 0;
  if (parse(cell, mark, number)) return CellTime{CellTime::Kind::number, number};
  const std::size_t end = cell.find_last_of("0123456789.") + 1;
  if (const auto unit = seconds_of_unit(cell.substr(end)); unit && end > 0) {
    if (parse(cell.substr(0, end), mark, number))
      return CellTime{CellTime::Kind::with_unit, number * *unit};
  }
  if (const auto seconds = stamp(cell)) return CellTime{CellTime::Kind::stamp, *seconds};
  for (const auto& seconds : {duration(cell), days_and_clock(cell)}) {
    if (seconds) return CellTime{CellTime::Kind::with_unit, *seconds};
  }
  std::string_view rest = cell;
  const auto parts = std::ranges::count(cell, ':');
  constexpr double day = 86400;
  if (const auto seconds = take_clock(rest); seconds && rest.empty())
    return CellTime{
        parts == 2 && *seconds < day ? CellTime::Kind::clock : CellTime::Kind::with_unit, *seconds};
  return {};
}

}  // namespace gradrace
