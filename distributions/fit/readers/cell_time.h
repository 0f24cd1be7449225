#pragma once

#include <optional>
#include <string_view>

namespace gradrace {

/// What a cell says of time.
struct CellTime {
  enum class Kind {
    number,     // in the file's unit
    with_unit,  // "462.0 ms", "1:02.5", "1m20s", "0 days 00:00:01.5", "PT1.5S": in seconds
    stamp,      // "2026-04-27T00:00:01.5+02:00": in seconds since 1970 (UTC where no zone is said)
    clock       // "23:01:02.5", below 24 h: in seconds
  };
  Kind kind;
  double value;
};

/// What stands before the decimals of numbers; the other may stand between thousands.
enum class DecimalMark { point, comma };

/// Nothing where the cell says no time.  Spaces around it do not count.
std::optional<CellTime> cell_time(std::string_view cell, DecimalMark mark);

/// Seconds of "ns", "us", "ms", "s", "sec", "seconds", "min", "h" and the like; nothing of others.
std::optional<double> seconds_of_unit(std::string_view unit);

/// Whether the cell says that there is no number: "", "nan", "N/A", "null", "None", "-".
bool is_blank(std::string_view cell);

}  // namespace gradrace
