#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gradrace {

/// A text whose columns are aligned by blanks, as of sacct, nsys or pandas' to_string, with a tab
/// between cells.  Left out are rules ("----- ----"), other lines below a second one, and the index
/// that pandas writes before its rows; lines keep their numbers.  None where lines differ in how
/// many cells they have, or where no row has a number.
std::optional<std::string> aligned_table(std::string_view text);

}  // namespace gradrace
