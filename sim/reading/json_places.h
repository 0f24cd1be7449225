#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/reading/problem.h"

namespace gradrace {

/// Where a value stands; without a line, outside the text.
struct JsonPlace {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

/// By JSON pointer, so that what lies below a pointer p are the keys that start with p + "/".
using Places = std::map<std::string, JsonPlace, std::less<>>;

/// Removes those of the value at the pointer.
void erase_subtree(Places& places, std::string_view pointer);

/// The place of the pointer, or of the nearest value above.
JsonPlace place_of(const Places& places, std::string_view pointer);

Problem problem_at(const JsonPlace& place, const std::string& origin, std::string path,
                   std::string what);

/// Whether the pointer is that one, or of a value further in.
bool is_at(std::string_view pointer, std::string_view outer);

/// The pointer to a key of the object at `pointer`: escapes "~" and "/".
std::string child_pointer(std::string_view pointer, std::string_view key);

/// The pointer along a dotted path, "parts.0.mean".
std::string pointer_along(std::string_view path);

/// "/parts/0/mean" as "parts[0].mean".
std::string dotted_path(std::string_view pointer);

std::vector<std::string_view> split(std::string_view text, char separator);
std::optional<std::size_t> array_index(std::string_view token);

}  // namespace gradrace
