#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gradrace {

/// What a sweep sets at a point: the value at a dotted path of the scenario, with paths of files
/// absolute.
struct SweptValue {
  std::string path;
  nlohmann::ordered_json value;

  /// As it stands in CSV, where texts are bare.
  std::string cell() const { return value.is_string() ? value.get<std::string>() : value.dump(); }
};

}  // namespace gradrace
