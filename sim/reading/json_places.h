#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/reading/problem.h"

namespace gradrace {

/// Where a value stands.  Without a line it came from outside the text.
struct JsonPlace {
  std::size_t line = 0;
  std::size_t column = 0;
  std::string origin = {};  // empty: the document's
};

/// By JSON pointer, so that what lies below a pointer p are the keys that start with p + "/".
using Places = std::map<std::string, JsonPlace, std::less<>>;

/// Those of the value at the pointer, with pointers that start there.
Places subtree(const Places& places, std::string_view pointer);
void erase_subtree(Places& places, std::string_view pointer);
/// Puts them in place of what stood there.
void put_subtree(Places& places, const std::string& pointer, const Places& subtree);

/// The place of the pointer, or of the nearest value above.
JsonPlace place_of(const Places& places, std::string_view pointer);

/// `origin`: of a place that has none of its own.
Problem problem_at(const JsonPlace& place, const std::string& origin, std::string path,
                   std::string what);

/// The pointer to a key of the object at `pointer`: escapes "~" and "/".
std::string child_pointer(std::string_view pointer, std::string_view key);

/// The pointer along a dotted path, "parts.0.mean".
std::string pointer_along(std::string_view path);

/// "/parts/0/mean" as "parts[0].mean".
std::string dotted_path(std::string_view pointer);

std::vector<std::string_view> split(std::string_view text, char separator);
std::optional<std::size_t> array_index(std::string_view token);

}  // namespace gradrace
