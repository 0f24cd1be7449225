#pragma once

#include <span>
#include <string_view>

namespace gradrace {

/// What the field calls something, separated by commas, and its name in gradrace.
struct Synonym {
  std::string_view theirs, here, meaning;
};

std::span<const Synonym> glossary();

/// The term whose names have that word, whatever its capitals, dashes, underscores and spaces; null
/// if there is none.
const Synonym* synonym_of(std::string_view word);

}  // namespace gradrace
