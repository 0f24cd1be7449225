#include "sim/cli/results/manifest.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "models/cpu/kernels/kernels.h"
#include "sim/cli/usage_error.h"
#include "sim/cli/version.h"
#include "sim/hash.h"
#include "sim/message_text.h"

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

/// Numbers of both differ in the last digits.
std::string arithmetic() {
  return kernels::chosen_kernels().fused ? "fused multiply-adds" : "multiplications and additions";
}

double gradient_rate(const DeviceFacts& device, double elapsed) {
  return std::round(static_cast<double>(device.gradients) / elapsed);
}

/// Whether some gradients are those of networks in float32.
bool uses_kernels(const Scenario& scenario) {
  return std::ranges::any_of(scenario.points, [](const Point& point) {
    return point.with_model() && point.model->has_dataset() &&
           point.model->precision() == "float32";
  });
}

/// The keys beside the device's name.
Json device_facts(const Scenario& scenario, const DeviceFacts& device, double elapsed) {
  Json facts{{"cohort", device.cohort}, {"gradients_per_second", gradient_rate(device, elapsed)}};
  if (const auto share = device.kernel_share(elapsed)) facts["kernel_share"] = *share;
  if (device.name == "cpu" && uses_kernels(scenario)) {
    facts["arithmetic"] = arithmetic();
    facts["instruction_set"] = kernels::chosen_kernels().name;
  }
  return facts;
}

}  // namespace

std::string device_text(const DeviceFacts& device, double elapsed) {
  char numbers[80];
  std::snprintf(numbers, sizeof numbers, ", %.3g gradients/s", gradient_rate(device, elapsed));
  std::string text = "device: " + device.name + ", " + count_text(device.threads, "thread");
  if (device.cohort > 1) {
    text += (device.threads > 1 ? ", each with up to " : " with up to ") +
            std::to_string(device.cohort) + " runs side by side";
  }
  text += numbers;
  if (const auto share = device.kernel_share(elapsed)) {
    std::snprintf(numbers, sizeof numbers, ", %.0f %% of the time in kernels", 100 * *share);
    text += numbers;
  }
  return text;
}

std::string version_text() {
  return std::string("gradrace ") + version_number + " (revision " + version_revision +
         (version_dirty ? ", dirty)" : ")");
}

std::string manifest_text(const Scenario& scenario, const RunFacts& facts) {
  Json manifest{
      {"scenario", Json::parse(scenario.resolved)},
      {"file", std::filesystem::absolute(scenario.file).string()},
      {"seed", scenario.first().seed},
      {"version", version()},
      {"hashes", {{"scenario", hash_of(scenario.resolved)}, {"data", data_hashes(scenario)}}},
      {"device", facts.device.name.empty() ? "none" : facts.device.name},
      {"machine", machine()},
      {"jobs", facts.jobs},
      {"runs", facts.runs},
      {"runs_finished", facts.finished},
      {"elapsed", facts.elapsed},
      {"notes", facts.notes}};
  if (!facts.device.name.empty())
    manifest.update(device_facts(scenario, facts.device, facts.elapsed));
  return manifest.dump(2) + "\n";
}

/// The header and a row for each run.
static bool has_rows(const std::filesystem::path& path, std::uint64_t runs) {
  std::ifstream file(path);
  std::uint64_t lines = 0;
  for (std::string line; std::getline(file, line) && !file.eof();) ++lines;
  return lines == runs + 1;
}

/// Keys of two scenarios whose values differ.
static std::string differing_keys(const Json& one, const Json& other) {
  std::string keys;
  for (const auto& [key, value] : other.items()) {
    if (one.is_object() && one.contains(key) && one[key] == value) continue;
    keys += (keys.empty() ? "" : ", ") + key;
  }
  return keys;
}

bool holds_results(const std::filesystem::path& folder, const Scenario& scenario) {
  const auto path = folder / "manifest.json";
  std::ifstream file(path);
  if (!file) return false;
  const Json manifest = Json::parse(file, nullptr, false);
  const bool is_manifest = manifest.is_object() && manifest.contains("runs");
  if (is_manifest && manifest["runs_finished"] != manifest["runs"]) return false;
  if (is_manifest && !has_rows(folder / "runs.csv", manifest["runs"])) return false;
  const bool younger =
      std::filesystem::last_write_time(path) >= std::filesystem::last_write_time("/proc/self/exe");
  const bool same_arithmetic =
      !is_manifest || !manifest.contains("arithmetic") || manifest["arithmetic"] == arithmetic();
  if (is_manifest && younger && same_arithmetic && manifest["version"] == version() &&
      manifest["scenario"] == Json::parse(scenario.resolved)) {
    return true;
  }
  const std::string keys =
      is_manifest ? differing_keys(manifest["scenario"], Json::parse(scenario.resolved)) : "";
  const std::string difference =
      is_manifest && !same_arithmetic
          ? " (computed with " + manifest["arithmetic"].dump() + ", here with " + arithmetic() + ")"
      : keys.empty() ? ""
                     : " (another value of " + keys + ")";
  throw UsageError(folder.string() + ": holds results of another scenario, form or program" +
                   difference +
                   "; remove it to run this one again, use --force to run all again, or --out DIR "
                   "for another folder");
}

}  // namespace gradrace
