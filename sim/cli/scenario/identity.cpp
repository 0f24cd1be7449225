#include "sim/cli/scenario/identity.h"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/nil_generator.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "sim/cli/scenario/each_path.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

RunKey named(const RunKey& space, const std::string& name) {
  return boost::uuids::name_generator_sha1(space)(name);
}

}  // namespace

Json bearing_on_results(Json scenario) {
  for (const char* key :
       {"$schema", "name", "title", "notes", "time_unit", "replicas", "sweep", "quick"})
    scenario.erase(key);
  if (scenario.value("device", "") == "auto") scenario["device"] = "cpu";
  if (scenario.contains("cluster"))
    for (const char* key : {"price", "price_per_gigabyte"}) scenario["cluster"].erase(key);
  return with_short_paths(std::move(scenario));
}

Json with_short_paths(Json scenario) {
  each_path(scenario, [](Json& path) {
    path = std::filesystem::path(path.get<std::string>()).filename().string();
  });
  return scenario;
}

RunKey point_key(Json resolved) {
  const bool is_on_gpu = resolved.value("device", "") == "cuda";
  if (is_on_gpu) resolved["device"] = "cpu";
  const RunKey key =
      named(boost::uuids::nil_uuid(),
            std::to_string(results_version) + bearing_on_results(std::move(resolved)).dump());
  return is_on_gpu ? on_gpu(key) : key;
}

RunKey on_gpu(const RunKey& point) { return named(point, "cuda"); }

RunKey run_key(const RunKey& point, std::uint32_t replica) {
  return named(point, std::to_string(replica));
}

}  // namespace gradrace
