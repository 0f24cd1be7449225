#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace gradrace {

/// The least number of letters to insert, delete, replace or swap with their neighbour that makes
/// `b` of `a`; no part is edited twice.  Capitals count as small letters.
/// Source: Damerau, Comm. ACM 7(3), 1964; the restricted form (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name that the word has here (glossary.h), if it is one of the names; else the first of those
/// that are nearest to the word, within two edits and half the longer one's
/// length; else the only one that begins with the word, of four letters or more; empty if
/// there is none.  Dashes, underscores and spaces count only between names
/// that are as near without them.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> names);

}  // namespace gradrace
