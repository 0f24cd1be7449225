#include "sim/reading/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "sim/message_text.h"

namespace gradrace {

namespace {

constexpr std::string_view in_seconds = ", where times are in seconds (time_unit)";

struct Unit {
  std::string_view name;
  double factor;
  std::string_view of;
};
constexpr std::array units{Unit{"s", 1, in_seconds},          Unit{"sec", 1, in_seconds},
                           Unit{"ms", 1e-3, in_seconds},      Unit{"us", 1e-6, in_seconds},
                           Unit{"\u00b5s", 1e-6, in_seconds}, Unit{"ns", 1e-9, in_seconds},
                           Unit{"min", 60, in_seconds},       Unit{"h", 3600, in_seconds},
                           Unit{"%", 1e-2, ", a fraction"}};
constexpr std::array prefixes{
    Unit{"", 1, {}},        Unit{"k", 1e3, {}},    Unit{"K", 1e3, {}},     Unit{"M", 1e6, {}},
    Unit{"G", 1e9, {}},     Unit{"T", 1e12, {}},   Unit{"Ki", 0x1p10, {}}, Unit{"Mi", 0x1p20, {}},
    Unit{"Gi", 0x1p30, {}}, Unit{"Ti", 0x1p40, {}}};
constexpr std::array sizes{Unit{"B", 1, {}},         Unit{"byte", 1, {}},
                           Unit{"bytes", 1, {}},     Unit{"b", 1.0 / 8, {}},
                           Unit{"bit", 1.0 / 8, {}}, Unit{"bits", 1.0 / 8, {}}};

/// Takes the end off a text that has it.
bool take_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

/// Of bytes, and of bytes a second; no name: it is none.
Unit size_of(std::string_view unit) {
  const bool is_rate = take_end(unit, "/s") || take_end(unit, "ps");
  for (const Unit& prefix : prefixes)
    for (const Unit& size : sizes)
      if (unit.size() == prefix.name.size() + size.name.size() && unit.starts_with(prefix.name) &&
          unit.ends_with(size.name))
        return {
            unit, prefix.factor * size.factor,
            is_rate ? ", in bytes a second, where times are in seconds (time_unit)" : ", in bytes"};
  return {};
}

}  // namespace

std::string number_for(std::string_view quantity) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(quantity.data(), quantity.data() + quantity.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) return {};
  std::string_view unit = quantity.substr(static_cast<std::size_t>(end - quantity.data()));
  const std::string_view digits = quantity.substr(0, quantity.size() - unit.size());
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  if (unit.find_first_of("0123456789") != unit.npos) return {};  // 1,000, 0x10, 1/3
  if (unit.empty()) return std::string(digits) + ", without quotes";
  for (const Unit& one : units)
    if (one.name == unit) return number_text(number * one.factor) + std::string(one.of);
  if (const Unit size = size_of(unit); !size.name.empty())
    return number_text(number * size.factor) + std::string(size.of);
  for (const Unit& prefix : prefixes)
    if (prefix.name == unit)
      return number_text(number * prefix.factor) + ", with " + std::string(unit) + " as " +
             number_text(prefix.factor);
  return std::string(digits) + ", the number alone";
}

}  // namespace gradrace
