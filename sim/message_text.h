#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace gradrace {

/// The shortest text that reads back as the same number; empty for NaN (not applicable).
inline std::string number_text(double value) {
  if (std::isnan(value)) return {};
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

/// Rounded to at most `digits` significant digits: "0.3333", "1e+10".
inline std::string short_number(double value, int digits = 4) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

/// A rate to three digits: "0.0312", "34,100".
inline std::string rate_text(double rate) {
  if (!(rate >= 999.5 && rate < 1e15)) return short_number(rate, 3);
  const double unit = std::pow(10, std::floor(std::log10(rate)) - 2);
  std::string text = std::to_string(std::llround(std::round(rate / unit) * unit));
  for (std::size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

/// "1 run", "2 runs".
inline std::string count_text(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// "a, b, c" of texts, or of the text of each item.
template <class Items, class Text = std::identity>
std::string joined(const Items& items, std::string_view separator = ", ", const Text& text = {}) {
  std::string result;
  for (const auto& item : items) {
    if (!result.empty()) result += separator;
    result += std::invoke(text, item);
  }
  return result;
}

}  // namespace gradrace
