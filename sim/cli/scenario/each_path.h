#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gradrace {

/// Calls for each text in a scenario that names a file or folder: of a key `path` or `..._path`,
/// also where a sweep lists values for a path that ends so.
template <class Each>
void each_path(nlohmann::ordered_json& value, Each each) {
  if (!value.is_structured()) return;
  for (const auto& [key, child] : value.items()) {
    const bool names_path =
        value.is_object() && (key == "path" || key.ends_with(".path") || key.ends_with("_path"));
    if (names_path && child.is_array()) {
      for (auto& path : child)
        if (path.is_string()) each(path);
    } else if (names_path && child.is_string()) {
      each(child);
    } else {
      each_path(child, each);
    }
  }
}

}  // namespace gradrace
