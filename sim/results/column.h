#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gradrace {

/// What a cell of a table is, and the cells of a column are that are not empty; `none`: not known,
/// or not applicable.
enum class CellType : std::uint8_t { number, integer, text, none };
constexpr std::string_view name_of(CellType type) {
  constexpr std::string_view names[] = {"number", "integer", "text", "none"};
  return names[static_cast<std::size_t>(type)];
}

/// What a column is to a reader: which run a row is of and how that ended (a run that failed has it
/// too), a setting of the sweep, the time to a target, what theory says, how many of something
/// there were, or anything else that a run gave.
enum class Role { run, setting, target, theory, count, result };
constexpr std::string_view name_of(Role role) {
  constexpr std::string_view names[] = {"run", "setting", "target", "theory", "count", "result"};
  return names[static_cast<std::size_t>(role)];
}

/// What a column has, in words, and how it is computed, where it is computed of other numbers.
struct Meaning {
  constexpr Meaning(const char* its_text, std::string_view its_formula = {})
      : text(its_text), formula(its_formula) {}
  constexpr Meaning(std::string_view its_text, std::string_view its_formula = {})
      : text(its_text), formula(its_formula) {}

  std::string_view text, formula;
};

/// A column of a table of results.
struct Column {
  std::string name;
  std::string_view unit;  // empty: none; "time": that of the runtime distribution
  Meaning meaning;
  CellType type;
  Role role = Role::result;
};

}  // namespace gradrace
