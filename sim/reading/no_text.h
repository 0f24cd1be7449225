#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gradrace {

/// What a file is that is no text in UTF-8, and what makes one of it.
struct NoText {
  std::string what;     // "is an Excel workbook"
  std::string allowed;  // "the table saved as CSV in UTF-8"
};

/// By its first bytes, and of an archive by the names in it; none where it may be a text.
std::optional<NoText> no_text(std::string_view content, const std::string& file);

}  // namespace gradrace
