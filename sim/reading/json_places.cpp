#include "sim/reading/json_places.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "sim/check.h"

namespace gradrace {

static std::string below(std::string_view pointer) { return std::string(pointer) + "/"; }

void erase_subtree(Places& places, std::string_view pointer) {
  const std::string prefix = below(pointer);
  auto end = places.lower_bound(prefix);
  const auto begin = end;
  while (end != places.end() && end->first.starts_with(prefix)) ++end;
  places.erase(begin, end);
  if (const auto self = places.find(pointer); self != places.end()) places.erase(self);
}

JsonPlace place_of(const Places& places, std::string_view pointer) {
  GRADRACE_CHECK(pointer.empty() || pointer.front() == '/',
                 "no JSON pointer: " + std::string(pointer));
  while (true) {
    if (const auto found = places.find(pointer); found != places.end()) return found->second;
    if (pointer.empty()) return {};
    pointer = pointer.substr(0, pointer.rfind('/'));
  }
}

Problem problem_at(const JsonPlace& place, const std::string& origin, std::string path,
                   std::string what) {
  return {.origin = origin,
          .line = place.line,
          .column = place.column,
          .path = std::move(path),
          .what = std::move(what)};
}

bool is_at(std::string_view pointer, std::string_view outer) {
  return pointer.starts_with(outer) &&
         (pointer.size() == outer.size() || pointer[outer.size()] == '/');
}

static std::string unescaped(std::string_view token) {
  std::string result;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escaped = token[i] == '~' && i + 1 < token.size();
    result += !escaped ? token[i] : token[++i] == '1' ? '/' : '~';
  }
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::size_t> array_index(std::string_view token) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (error != std::errc() || end != token.data() + token.size()) return {};
  return index;
}

std::string pointer_along(std::string_view path) {
  std::string pointer;
  for (const auto part : split(path, '.')) pointer = child_pointer(pointer, part);
  return pointer;
}

std::string dotted_path(std::string_view pointer) {
  std::string result;
  if (pointer.empty()) return result;
  for (const auto token : split(pointer.substr(1), '/')) {
    if (array_index(token))
      result += "[" + std::string(token) + "]";
    else
      result += (result.empty() ? "" : ".") + unescaped(token);
  }
  return result;
}

std::string child_pointer(std::string_view pointer, std::string_view key) {
  std::string result = below(pointer);
  for (const char c : key) {
    if (c == '~')
      result += "~0";
    else if (c == '/')
      result += "~1";
    else
      result += c;
  }
  return result;
}

}  // namespace gradrace
