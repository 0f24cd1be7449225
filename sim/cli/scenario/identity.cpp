#include "sim/cli/scenario/identity.h"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/nil_generator.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

void shorten_paths(Json& value) {
  if (!value.is_structured()) return;
  for (const auto& [key, child] : value.items()) {
    const bool is_path = value.is_object() && (key == "path" || key.ends_with("_path"));
    if (is_path && child.is_string()) {
      child = std::filesystem::path(child.get<std::string>()).filename().string();
    } else {
      shorten_paths(child);
    }
  }
}

RunKey named(const RunKey& space, const std::string& name) {
  return boost::uuids::name_generator_sha1(space)(name);
}

}  // namespace

Json bearing_on_results(Json scenario) {
  for (const char* key :
       {"$schema", "name", "title", "notes", "time_unit", "replicas", "sweep", "quick"})
    scenario.erase(key);
  if (scenario.value("device", "") == "auto") scenario["device"] = "cpu";
  if (scenario.contains("cluster")) scenario["cluster"].erase("price");
  shorten_paths(scenario);
  return scenario;
}

RunKey point_key(const Json& resolved) {
  return named(boost::uuids::nil_uuid(),
               std::to_string(results_version) + bearing_on_results(resolved).dump());
}

RunKey run_key(const RunKey& point, std::uint32_t replica) {
  return named(point, std::to_string(replica));
}

}  // namespace gradrace
