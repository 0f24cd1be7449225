#pragma once

#include <string>
#include <vector>

namespace gradrace {

/// The name of a point among the others, in parts: ("", "k-async"), ("k", "4").  A part without a
/// key stands for itself.
struct Label {
  struct Part {
    std::string key, text;
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;

  /// "k-async k=4".
  std::string text() const {
    std::string text;
    for (const auto& [key, value] : parts) {
      if (&value != &parts.front().text) text += ' ';
      text += key.empty() ? value : key + "=" + value;
    }
    return text;
  }
};

}  // namespace gradrace
