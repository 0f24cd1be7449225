#include "sim/cli/results/run_header.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>
#include <stdexcept>

#include "sim/cli/results/manifest.h"
#include "sim/cli/usage_error.h"
#include "sim/hash.h"
#include "sim/message_text.h"
#include "sim/reading/foreign_json.h"
#include "sim/reading/json_places.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

/// Null where the data cannot be read or do not fit into memory: the point's runs fail.
std::optional<std::vector<std::string>> hashes_of(const Point& point) {
  try {
    return point.data_hashes();
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void note_differences(const Json& there, const Json& here, const std::string& pointer,
                      std::vector<std::string>& differences) {
  if (there == here) return;
  if (there.is_object() && here.is_object()) {
    std::set<std::string> keys;
    for (const auto& [key, value] : there.items()) keys.insert(key);
    for (const auto& [key, value] : here.items()) keys.insert(key);
    for (const auto& key : keys) {
      note_differences(there.value(key, Json()), here.value(key, Json()),
                       child_pointer(pointer, key), differences);
    }
    return;
  }
  const auto shown = [](const Json& value) {
    constexpr std::size_t most = 40;
    const std::string text = value.is_null() ? "none" : dump(value);
    return text.size() > most ? text.substr(0, most) + "..." : text;
  };
  differences.push_back(dotted_path(pointer) + " (" + shown(there) + " there, " + shown(here) +
                        " here)");
}

std::string difference_of(const Json& there, const Json& here) {
  std::vector<std::string> differences;
  note_differences(bearing_on_results(there), bearing_on_results(here), "", differences);
  constexpr std::size_t most = 4;
  return joined(differences | std::views::take(most)) +
         (differences.size() > most ? ", and " + std::to_string(differences.size() - most) + " more"
                                    : "");
}

[[noreturn]] void refuse_header(const std::string& file) {
  throw UsageError(file + ": does not say whose runs it has; move it away");
}

/// What shards of a scenario have in common.
std::string common_part(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

RunHeader RunHeader::of(const Scenario& scenario, std::optional<Shard> shard, std::size_t runs) {
  RunHeader header{.file = std::filesystem::absolute(scenario.file).string(),
                   .scenario = scenario.resolved,
                   .written = scenario.written,
                   .arithmetic = arithmetic_of(scenario),
                   .data_hashes = {},
                   .data_of_points = {},
                   .device_reason = scenario.device_reason,
                   .shard = shard,
                   .runs = runs};
  std::set<std::string> hashes;
  for (const Point& point : scenario.points) {
    Hash hash;
    const auto texts = hashes_of(point);
    for (const auto& text : texts.value_or(std::vector<std::string>())) {
      hash.add_bytes(text);
      hashes.insert(text);
    }
    header.data_of_points.push_back(texts ? hash.value() : unknown_data);
  }
  header.data_hashes = {hashes.begin(), hashes.end()};
  return header;
}

RunName RunHeader::name_of(std::size_t run, const Scenario& of) const {
  return {run_key(of.point_of(run).key, of.replica_of(run)), data_of_point(of.point_number(run))};
}

std::uint64_t RunHeader::data_of_point(std::size_t point) const {
  return data_of_points.size() == 1 ? data_of_points.front() : data_of_points[point];
}

std::string RunHeader::text() const {
  const bool has_one =
      std::ranges::adjacent_find(data_of_points, std::not_equal_to()) == data_of_points.end();
  const auto of_points = has_one && !data_of_points.empty()
                             ? std::vector<std::uint64_t>{data_of_points.front()}
                             : data_of_points;
  Json common{{"results", results_version},     {"file", file},
              {"arithmetic", arithmetic},       {"data", data_hashes},
              {"data_of_points", of_points},    {"scenario", Json::parse(scenario)},
              {"written", Json::parse(written)}};
  if (!device_reason.empty()) common["device_reason"] = device_reason;
  Json of_shard = Json::object();
  if (shard) of_shard = {{"shard", shard->text()}, {"runs", runs}};
  return dump(common) + "\n" + dump(of_shard);
}

RunHeader RunHeader::from(const std::string& text, const std::string& file) {
  try {
    const Json common = foreign_json(common_part(text));
    if (!common.at("scenario").is_object() || !common.at("written").is_object())
      refuse_header(file);
    RunHeader header{.file = common.at("file"),
                     .scenario = dump(common.at("scenario")),
                     .written = dump(common.at("written")),
                     .arithmetic = common.at("arithmetic"),
                     .data_hashes = common.at("data"),
                     .data_of_points = common.at("data_of_points"),
                     .device_reason = common.value("device_reason", "")};
    const Json of_shard = foreign_json(text.substr(text.find('\n') + 1));
    if (of_shard.contains("shard")) {
      header.shard = Shard::from(of_shard.at("shard").get<std::string>());
      header.runs = of_shard.at("runs");
    }
    return header;
  } catch (const Json::exception&) {
    refuse_header(file);
  }
}

std::string difference(const std::string& there, const std::string& here) {
  if (common_part(there) == common_part(here)) return {};
  const Json one = foreign_json(common_part(there)), other = Json::parse(common_part(here));
  for (const char* key : {"results", "arithmetic", "scenario", "written"})
    if (!one.is_object() || !one.contains(key)) return "it does not say of which";
  if (!one["scenario"].is_object() || !one["written"].is_object())
    return "it does not say of which";
  if (one["results"] != other["results"])
    return "this version of gradrace gives other results (number " + one["results"].dump() +
           " there, " + other["results"].dump() + " here)";
  const bool same_as_written = difference_of(one["written"], other["written"]).empty();
  const std::string differs =
      same_as_written ? "" : difference_of(one["scenario"], other["scenario"]);
  if (!differs.empty()) return differs;
  if (one["arithmetic"] == other["arithmetic"]) return {};
  const char* const goes_on = one["arithmetic"] == gpu_arithmetic     ? "; --device cuda goes on"
                              : other["arithmetic"] == gpu_arithmetic ? "; --device cpu goes on"
                                                                      : "";
  return "computed with " + one["arithmetic"].dump() + ", here with " + other["arithmetic"].dump() +
         goes_on;
}

bool make_same_runs(const RunHeader& one, const RunHeader& other) {
  const Json first = with_short_paths(Json::parse(one.scenario)),
             second = with_short_paths(Json::parse(other.scenario));
  const auto same = [&](const char* key) {
    return first.value(key, Json()) == second.value(key, Json());
  };
  return same("sweep") && same("replicas");
}

}  // namespace gradrace
