#pragma once

#include <string>
#include <string_view>

namespace gradrace {

/// The first control character of a text (C0, DEL, C1, and those that break lines or turn the
/// direction of writing), as "U+001B"; empty if it has none.
std::string control_character(std::string_view text);

bool is_utf8(std::string_view text);

/// The text as it may go to a terminal or a log: "\u001b" for control characters, line breaks too,
/// and for those that are invisible or turn the direction of writing; "\xff" for a byte that is not
/// UTF-8.
std::string printable(std::string_view text);

/// Whether a text is as printable() makes it, and no spreadsheet takes it for a formula.
bool is_plain(std::string_view text);

}  // namespace gradrace
