#include "sim/cli/manifest.h"

#include <sys/utsname.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "sim/cli/usage_error.h"
#include "sim/cli/version.h"
#include "sim/hash.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

std::string hash_of(const std::string& text) {
  Hash hash;
  for (const unsigned char c : text) hash.add(c);
  return hash.hex();
}

Json version() {
  return {{"number", version_number}, {"revision", version_revision}, {"dirty", version_dirty}};
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return {};
}

Json machine() {
  utsname system{};
  uname(&system);
  return {{"system", std::string(system.sysname) + " " + system.release + " " + system.machine},
          {"processor", processor()},
          {"cores", std::thread::hardware_concurrency()},
          {"compiler", __VERSION__}};
}

Json data_hashes(const Scenario& scenario) {
  std::set<std::string> hashes;
  for (const auto& point : scenario.points) {
    for (const auto& trace : point.cluster.traces()) hashes.insert(trace->hash);
    const std::string hash = point.with_model() ? point.model->data_hash() : "";
    if (!hash.empty()) hashes.insert(hash);
  }
  return hashes;
}

}  // namespace

std::string version_text() {
  return std::string("gradrace ") + version_number + " (revision " + version_revision +
         (version_dirty ? ", dirty)" : ")");
}

std::string manifest_text(const Scenario& scenario, const RunFacts& facts) {
  const Json manifest{
      {"scenario", Json::parse(scenario.resolved)},
      {"file", std::filesystem::absolute(scenario.file).string()},
      {"seed", scenario.first().seed},
      {"version", version()},
      {"hashes", {{"scenario", hash_of(scenario.resolved)}, {"data", data_hashes(scenario)}}},
      {"device", scenario.first().with_model() ? "cpu" : "none"},
      {"machine", machine()},
      {"jobs", facts.jobs},
      {"runs", facts.runs},
      {"runs_finished", facts.finished},
      {"elapsed", facts.elapsed},
      {"notes", facts.notes}};
  return manifest.dump(2) + "\n";
}

bool holds_results(const std::filesystem::path& folder, const Scenario& scenario) {
  const auto path = folder / "manifest.json";
  std::ifstream file(path);
  if (!file) return false;
  const Json manifest = Json::parse(file, nullptr, false);
  const bool is_manifest = manifest.is_object() && manifest.contains("runs");
  if (is_manifest && manifest["runs_finished"] != manifest["runs"]) return false;
  const bool younger =
      std::filesystem::last_write_time(path) >= std::filesystem::last_write_time("/proc/self/exe");
  if (is_manifest && younger && manifest["version"] == version() &&
      manifest["scenario"] == Json::parse(scenario.resolved)) {
    return true;
  }
  throw UsageError(
      folder.string() +
      ": holds results of another scenario, form or program; use --force to run all again, or "
      "--out DIR for another folder");
}

}  // namespace gradrace
