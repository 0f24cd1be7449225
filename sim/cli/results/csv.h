#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "sim/message_text.h"

namespace gradrace {

/// Adds lines of comma-separated values (RFC 4180, but with a bare line feed) to a text.
class Csv {
 public:
  explicit Csv(std::string& text) : text_(text) {}

  template <class... Cells>
  void row(const Cells&... cells) {
    (cell(cells), ...);
    end_row();
  }

  template <class Cell>
  void cell(const Cell& value) {
    if (!at_start_) text_ += ',';
    at_start_ = false;
    if constexpr (std::is_floating_point_v<Cell>) {
      text_ += number_text(value);
    } else if constexpr (std::is_arithmetic_v<Cell>) {
      text_ += std::to_string(value);
    } else {
      quote(value);
    }
  }

  void end_row() {
    text_ += '\n';
    at_start_ = true;
  }

 private:
  void quote(std::string_view value) {
    if (value.find_first_of(",\"\n\r") == std::string_view::npos) {
      text_ += value;
      return;
    }
    text_ += '"';
    for (const char c : value) text_ += c == '"' ? "\"\"" : std::string(1, c);
    text_ += '"';
  }

  std::string& text_;
  bool at_start_ = true;
};

}  // namespace gradrace
