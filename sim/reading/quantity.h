#pragma once

#include <string>
#include <string_view>

namespace gradrace {

/// What to write in place of a text that is a number with a unit, such as "10 Gb/s" or "5 ms": the
/// number in bytes, in bytes a unit of time, in units of time, or as a fraction; of another unit
/// the number alone, and of a number without one that.  Empty: it begins with no number, or has
/// digits past it, such as 1,000.
std::string number_for(std::string_view quantity);

}  // namespace gradrace
