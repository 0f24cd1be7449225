#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gradrace {

/// Opens /dev/null in place of those of stdin, stdout and stderr that the caller closed, so that no
/// file of results gets their number and what is meant for the terminal.
void open_standard_streams();

/// Why what was written to stdout or stderr did not get there, once nothing more is written; empty:
/// it did, or the reader of a pipe has gone, who wants no more.
std::string lost_output();

/// What the user should know, a line on stderr; printable().
void tell_note(const std::string& note);

/// Columns of the terminal that stdout goes to; none where it goes elsewhere.
std::optional<std::size_t> terminal_width();

/// A text that begins in column `from`; where a line would be longer than `width`, the next begins
/// after `indent` spaces.
std::string wrapped(std::string_view text, std::size_t from, std::size_t indent,
                    std::size_t width = 100);

}  // namespace gradrace
