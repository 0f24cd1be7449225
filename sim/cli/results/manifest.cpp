#include "sim/cli/results/manifest.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>
#include <utility>

#include "models/cpu/kernels/kernels.h"
#include "sim/cli/output/disk.h"
#include "sim/cli/output/output_folder.h"
#include "sim/cli/output/published_files.h"
#include "sim/cli/results/pages.h"
#include "sim/cli/results/run_files.h"
#include "sim/cli/standard_streams.h"
#include "sim/cli/version.h"
#include "sim/hash.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"
#include "sim/reading/foreign_json.h"
#include "sim/results/points_text.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

std::string hash_of(const std::string& text) {
  Hash hash;
  hash.add_bytes(text);
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

double gradient_rate(const DeviceFacts& device, double elapsed) {
  return std::round(static_cast<double>(device.gradients) / elapsed);
}

/// The keys beside the device's name.
Json device_facts(const RunFacts& run) {
  const auto& [device, elapsed] = std::tie(run.device, run.elapsed);
  Json facts{{"cohort", device.cohort}, {"gradients_per_second", gradient_rate(device, elapsed)}};
  if (const auto share = device.kernel_share(elapsed)) facts["kernel_share"] = *share;
  if (device.name == "cpu" && !run.arithmetic.empty())
    facts["instruction_set"] = kernels::chosen_kernels().name;
  return facts;
}

bool is_written(const CsvPage& page, const std::map<std::string, std::string>& files) {
  const std::string stem(page.name.substr(0, page.name.find('.') + 1));
  return std::ranges::any_of(files, [&](const auto& file) { return file.first.starts_with(stem); });
}

/// Adds a list to a text, a line for each of what there may be many of.
class Lines {
 public:
  Lines(std::string& text, std::string_view begin) : text_(text) { text_ += begin; }
  ~Lines() { text_ += "\n  ]"; }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  void add(const Json& line) {
    text_ += std::exchange(separator_, ",\n    ");
    text_ += line.dump();
  }

 private:
  std::string& text_;
  const char* separator_ = "\n    ";
};

void add_points(std::string& text, const Scenario& scenario) {
  Lines lines(text, points_begin);
  for (std::size_t number = 0; number < scenario.points.size(); ++number)
    lines.add(point_json(number, scenario.points[number]));
}

void add_targets(std::string& text, const Scenario& scenario) {
  Lines lines(text, ",\n  \"targets\": [");
  for (const Target& target : targets_of(scenario.first()))
    lines.add({{"of", target.of},
               {"level", target.level},
               {"column", target.column},
               {"resolution", target.resolution}});
}

/// What `gradrace list columns` says of the files, by their names.
void add_columns(std::string& text, const Scenario& scenario,
                 const std::map<std::string, std::string>& files) {
  const std::string& time_unit = scenario.first().time_unit;
  text += ",\n  \"columns\": {";
  std::string begin = "\n  \"";
  for (const CsvPage& page : pages_of(scenario)) {
    if (!is_written(page, files)) continue;
    Lines lines(text, begin + std::string(page.name) + "\": [");
    begin = ",\n  \"";
    for (const Column& column : page.columns) {
      const bool is_time = column.unit == "time" && !time_unit.empty();
      lines.add({{"name", column.name},
                 {"type", name_of(column.type)},
                 {"unit", is_time ? std::string_view(time_unit) : column.unit},
                 {"role", name_of(column.role)},
                 {"definition", column.meaning.text},
                 {"formula", column.meaning.formula}});
    }
  }
  text += "}";
}

}  // namespace

Json point_json(std::size_t number, const Point& point) {
  Json parts = Json::array(), settings = Json::array();
  for (const auto& [key, part] : point.label.parts) parts.push_back(Json::array({key, part}));
  for (const auto& [path, value] : point.settings)
    settings.push_back({{"path", path}, {"value", value}});
  return {{"number", number},
          {"protocol", point.protocol_name},
          {"label", point.label.text()},
          {"parts", std::move(parts)},
          {"settings", std::move(settings)}};
}

std::string device_of(const Scenario& scenario) {
  if (std::ranges::none_of(scenario.points, &Point::with_model)) return "none";
  return scenario.first().device == "cuda" ? "cuda" : "cpu";
}

std::string arithmetic_of(const Scenario& scenario) {
  if (device_of(scenario) == "cuda") return std::string(gpu_arithmetic);
  const bool uses_kernels = std::ranges::any_of(scenario.points, [](const Point& point) {
    return point.with_model() && point.model->has_dataset() &&
           point.model->precision() == "float32";
  });
  if (!uses_kernels) return {};
  return kernels::chosen_kernels().fused ? "fused multiply-adds" : "multiplications and additions";
}

std::string device_text(const DeviceFacts& device, double elapsed) {
  const std::string rate = ", " + rate_text(gradient_rate(device, elapsed)) + " gradients/s";
  std::string text = "device: " + device.name + ", " + count_text(device.threads, "thread");
  if (device.cohort > 1) {
    text += (device.threads > 1 ? ", each with up to " : " with up to ") +
            std::to_string(device.cohort) + " runs side by side";
  }
  text += rate;
  if (const auto share = device.kernel_share(elapsed))
    text += ", " + std::to_string(std::lround(100 * *share)) + " % of the time in kernels";
  return text;
}

std::string evaluation_advice(const DeviceFacts& device) {
  constexpr double least_seconds = 1, least_share = 0.5;
  const double share = device.evaluation_seconds / device.run_seconds;
  if (!(device.run_seconds >= least_seconds && share > least_share)) return {};
  char text[8];
  std::snprintf(text, sizeof text, "%.0f", 100 * share);
  return std::string("evaluations took ") + text +
         " % of the time of the runs: fewer (record.every_time, every_updates, every_epochs), or "
         "of "
         "fewer rows (record.train_rows, test_rows), leave more for gradients";
}

std::string version_text() {
  return std::string("gradrace ") + version_number + " (revision " + version_revision +
         (version_dirty ? ", dirty)" : ")");
}

std::string manifest_text(const Scenario& scenario, const RunFacts& facts) {
  Json manifest{{"scenario", Json::parse(scenario.resolved)},
                {"file", printable(std::filesystem::absolute(scenario.file).string())},
                {"seed", scenario.first().seed},
                {"version", version()},
                {"hashes", {{"scenario", hash_of(scenario.resolved)}, {"data", facts.data}}},
                {"device", facts.device.name.empty() ? device_of(scenario) : facts.device.name},
                {"machine", machine()},
                {"runs", facts.runs},
                {"runs_finished", facts.finished},
                {"elapsed", facts.elapsed},
                {"notes", facts.notes},
                {"files", facts.files}};
  if (facts.jobs > 0) manifest["jobs"] = facts.jobs;
  if (!facts.device_reason.empty()) manifest["device_reason"] = facts.device_reason;
  if (!facts.arithmetic.empty()) manifest["arithmetic"] = facts.arithmetic;
  if (!facts.device.name.empty()) manifest.update(device_facts(facts));
  std::string text = manifest.dump(2);
  text.resize(text.size() - 2);  // its end, "\n}"
  add_points(text, scenario);
  add_targets(text, scenario);
  add_columns(text, scenario, facts.files);
  text += "\n}\n";
  return text;
}

bool note_if_mixed(const std::filesystem::path& folder) {
  const PublishedFiles there(folder);
  const bool has_store = std::filesystem::exists(folder / "runs.store");
  const bool is_there =
      there.are_known() || (has_store && !files_of_runs().first_in(folder).empty());
  if (!is_there || there.are_whole()) return false;
  const std::string whose = there.record().empty()
                                ? "a manifest"
                                : "its " + there.record() + " (" + there.changed() + ")";
  tell_note(folder.string() + ": half published, or changed since: its files are not those of " +
            whose +
            (there.are_half() || has_store ? "; the same call that made it writes them anew" : ""));
  return true;
}

bool is_published(const std::filesystem::path& folder, const Scenario& scenario) {
  const std::string text = text_of_file(folder / "manifest.json");
  if (text.find(points_begin) == std::string::npos) return false;  // an older gradrace's
  const Json manifest = foreign_json(without_points(text));
  if (!manifest.is_object() || !manifest.contains("files")) return false;
  if (!manifest["files"].contains("runs.csv")) return false;
  const auto part = [&](const char* key) { return manifest.value(key, Json()); };
  if (part("runs").is_null() || part("runs_finished") != part("runs")) return false;
  if (part("scenario") != Json::parse(scenario.resolved)) return false;
  return PublishedFiles(folder).are_whole();
}

}  // namespace gradrace
