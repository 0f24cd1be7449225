#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace gradrace {

/// Whether what stands at a key, or at a dotted path in a sweep, names a file or folder.
inline bool names_path(std::string_view key) {
  const std::string_view last = key.substr(key.rfind('.') + 1);
  const bool is_of_python = key.find("arguments.") != key.npos;  // which says what they mean
  return !is_of_python && (last == "path" || last == "file" || last.ends_with("_path"));
}

/// Calls for each text in a scenario that names a file or folder, also where a sweep lists values
/// for a path.
template <class Each>
void each_path(nlohmann::ordered_json& value, Each each) {
  if (!value.is_structured()) return;
  for (const auto& [key, child] : value.items()) {
    const bool is_path = value.is_object() && names_path(key);
    if (value.is_object() && (key == "arguments" || key.ends_with(".arguments"))) continue;
    if (is_path && child.is_array()) {
      for (auto& path : child)
        if (path.is_string()) each(path);
    } else if (is_path && child.is_string()) {
      each(child);
    } else {
      each_path(child, each);
    }
  }
}

}  // namespace gradrace
