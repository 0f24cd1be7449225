#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/cli/python.h"
#include "sim/cli/scenario/identity.h"
#include "sim/cli/scenario/labels.h"
#include "sim/cli/scenario/scenario.h"
#include "sim/cli/scenario/sweep.h"
#include "sim/cli/scenario/swept_problems.h"
#include "sim/reading/document.h"
#include "sim/reading/edit_distance.h"
#include "sim/reading/json_places.h"
#include "sim/reading/json_text.h"
#include "sim/reading/reader.h"
#include "sim/reading/rest_of.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

bool is_schema(const Json& root) {
  return root.is_object() && root.contains("$schema") && root.contains("properties");
}

/// The values of "quick" keep their places.
void apply_quick(Document& document) {
  const auto found = document.root().find("quick");
  if (found == document.root().end()) return;
  std::vector<std::string> paths;
  for (const auto& [path, value] : found->items()) paths.push_back(path);
  for (const auto& path : paths) document.set(path, child_pointer("/quick", path));
}

void check_quick(const Document& document) {
  const auto found = document.root().find("quick");
  if (found == document.root().end()) return;
  if (found->is_object()) {
    for (const auto& [path, value] : found->items()) {
      if (is_within(path, "quick"))
        throw ScenarioError({document.problem(child_pointer("/quick", path), "sets itself")});
    }
    return;
  }
  throw ScenarioError(
      {document.problem("/quick", "expected an object: dotted path -> value with --quick")});
}

/// Of a text of JSON; ScenarioError where a key is given twice.
Json value_of(const ScenarioChanges::Set& set) {
  ParsedJson parsed = parse_json(set.value, set.origin);
  if (!parsed.problems.empty()) throw ScenarioError(parsed.problems);
  return std::move(*parsed.root);
}

void apply(Document& document, const ScenarioChanges& changes) {
  check_quick(document);
  if (changes.quick) apply_quick(document);
  for (const auto& set : changes.sets) {
    document.set(set.path, Json::accept(set.value) ? value_of(set) : Json(set.value), set.origin);
  }
}

/// Equal for points whose models and their data are the same.
std::string model_text(const Point& point, const Json& resolved) {
  const std::string model = resolved.at("model").dump();
  if (!point.model->has_shards()) return model;
  return model + Json{point.cluster.learners, point.seed}.dump();
}

std::string device_text(const Point& point, const Json& resolved) {
  if (!point.with_model()) return {};
  Json model = resolved.at("model");
  model.erase("minibatch");
  const std::uint64_t all = 0;
  Json text{point.device, point.rows.train.value_or(all), point.rows.test.value_or(all), model};
  if (point.model->has_shards()) text.push_back({point.cluster.learners, point.seed});
  return text.dump();
}

}  // namespace

/// All problems of a point, but for keys that are idle there.
static std::vector<Problem> read_point(Reader& reader, Point& point, DataShelf& shelf) {
  for (const FileKey& key : file_keys) reader.pass(key.name);
  visit_scenario(reader, point, shelf);
  return reader.finish();
}

static void add(std::vector<Problem>& problems, std::vector<Problem> more) {
  problems.insert(problems.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
}

/// Reads documents that no point has, whose data nobody needs.
static std::function<std::vector<Problem>(const Document&)> reader_of_unused(
    const std::filesystem::path& file, const ScenarioChanges& changes) {
  const auto shelf = std::make_shared<DataShelf>(std::filesystem::absolute(file).parent_path(),
                                                 changes.data_folder);
  shelf->leave_unused();
  return [shelf, name = file.stem().string()](const Document& document) {
    Point point;
    point.name = name;
    Reader reader(document, shelf->locator());
    return read_point(reader, point, *shelf);
  };
}

static std::vector<Problem> changes_without_effect(const Sweep& sweep,
                                                   const ScenarioChanges& changes) {
  std::vector<Problem> problems;
  for (const auto& set : changes.sets) {
    const std::string* const path = sweep.covers(set.path);
    if (!path) continue;
    problems.push_back(
        {.origin = set.origin,
         .path = set.path,
         .what = "changes nothing, since the sweep sets " + *path + " at every point",
         .allowed = "another sweep: --set 'sweep={\"" + *path + "\": [...]}'"});
  }
  return problems;
}

/// As labels tell it: resolved, so that a manifest has the labels of what was written, and without
/// defaults.  A protocol that is swept whole stays as it is written.
static ProtocolText protocol_text(const Sweep& sweep, const Document& document,
                                  const Reader& reader) {
  for (const std::string& path : sweep.paths())
    if (path == "protocol" || path == "protocol.kind")
      return {.whole = document.root().at("protocol"), .told = nullptr};
  const std::string key = "/protocol";
  ProtocolText text{reader.resolved().at("protocol"), reader.resolved().at("protocol")};
  for (const std::string& pointer : reader.defaults()) {
    if (!pointer.starts_with(key + "/")) continue;
    const nlohmann::ordered_json::json_pointer place(pointer.substr(key.size()));
    if (text.told.contains(place)) text.told.at(place.parent_pointer()).erase(place.back());
  }
  return text;
}

static Scenario read_document(Document base, const std::filesystem::path& file,
                              const ScenarioChanges& changes, bool is_manifest = false);

static PythonSetting python_setting(const std::filesystem::path& file, bool is_manifest,
                                    const ScenarioChanges& changes) {
  PythonSetting setting{.interpreter = python_program(),
                        .workers = home() / "analysis" / "python",
                        .of_manifest = is_manifest,
                        .use = changes.python};
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  if (!changes.allow_python) setting.below = std::filesystem::weakly_canonical(folder);
  return setting;
}

static std::vector<std::string> data_of_manifest(const nlohmann::ordered_json& manifest) {
  const nlohmann::ordered_json::json_pointer place("/hashes/data");
  std::vector<std::string> hashes;
  if (manifest.contains(place))
    for (const auto& hash : manifest.at(place))
      if (hash.is_string()) hashes.push_back(hash.get<std::string>());
  return hashes;
}

static bool bears_on_data(const ScenarioChanges::Set& set) {
  const std::string key = set.path.substr(0, set.path.find('.'));
  for (const std::string_view path : {"protocol", "protocol.kind", "protocol.file"})
    if (set.path == path) return true;
  return key == "model" || key == "cluster" || key == "sweep" || key == "timing_only";
}

/// The file, or where there is none the scenario of that name that comes with gradrace:
/// "quickstart", "quickstart.json", "scenarios/quickstart.json".
static std::filesystem::path found(const std::filesystem::path& file) {
  if (std::filesystem::exists(file) || file.is_absolute()) return file;
  const std::filesystem::path scenarios = home() / "scenarios";
  for (auto path : {scenarios / file, home() / file}) {
    if (std::filesystem::is_regular_file(path) && path.extension() == ".json") return path;
    if (std::filesystem::is_regular_file(path += ".json")) return path;
  }
  return file;
}

/// Why there is no such file, and what there is.
static UsageError not_there(const std::filesystem::path& file) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(home() / "scenarios", error))
    if (entry.path().extension() == ".json" && entry.path().stem() != "schema")
      names.push_back(entry.path().stem().string());
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string nearest(nearest_name(file.stem().string(), known));
  return UsageError(file.string() + ": there is no such file" +
                    (nearest.empty() ? "" : "; \"" + nearest + "\" comes with gradrace"));
}

Scenario read_scenario(const std::filesystem::path& given, const ScenarioChanges& changes) {
  if (given == "-") {
    return read_scenario_text(rest_of(std::cin), "stdin", changes);
  }
  const std::filesystem::path file = found(given);
  if (std::filesystem::is_directory(file)) {
    const bool has_manifest = std::filesystem::exists(file / "manifest.json");
    throw UsageError(
        file.string() + ": is a folder, and a scenario is a file" +
        (has_manifest ? "; did you mean " + (file / "manifest.json").string() + "?" : ""));
  }
  if (!std::filesystem::exists(file)) throw not_there(file);
  Document document = Document::read(file);
  if (is_schema(document.root())) {
    throw SchemaOfScenarios(file.string() + ": is the schema of scenarios, not one");
  }
  const bool is_manifest = document.root().is_object() && document.root().contains("scenario") &&
                           document.root().contains("version");
  if (!is_manifest) return read_document(std::move(document), file, changes);
  Scenario scenario = read_document(document.part("/scenario"), file, changes, true);
  if (std::ranges::none_of(changes.sets, bears_on_data))
    scenario.data_before = data_of_manifest(document.root());
  return scenario;
}

Scenario read_scenario_text(std::string_view text, const std::filesystem::path& file,
                            const ScenarioChanges& changes) {
  return read_document(Document::parse(text, file.string()), file, changes);
}

static Scenario read_document(Document base, const std::filesystem::path& file,
                              const ScenarioChanges& changes, bool is_manifest) {
  apply(base, changes);
  const auto shelf = std::make_shared<DataShelf>(std::filesystem::absolute(file).parent_path(),
                                                 changes.data_folder);
  if (changes.data_may_lack) shelf->tolerate_missing();
  shelf->python().setting = python_setting(file, is_manifest, changes);
  const Sweep sweep(base, shelf->locator());
  std::vector<Problem> problems = sweep.problems();
  const std::vector<Problem> without_effect = changes_without_effect(sweep, changes);
  add(problems, without_effect);
  SweptProblems of_points(sweep.paths());
  IdleKeys idle_keys;
  Scenario scenario{file, sweep.paths(), {}, {}, base.root().dump(), shelf};
  scenario.points.reserve(sweep.points());
  std::vector<ProtocolText> protocols;
  protocols.reserve(sweep.points());
  // [point with other problems]: its traces, which are read once as long as they are kept
  std::map<std::size_t, std::vector<std::shared_ptr<const Trace>>> unsound;
  std::map<std::string, ModelProduct> models;  // [model_text]: those of many points are one
  for (std::size_t number = 0; number < sweep.points(); ++number) {
    Point point;
    point.name = file.stem().string();
    const Document document = sweep.document(number, point.settings);
    Reader reader(document, shelf->locator());
    auto found = read_point(reader, point, *shelf);
    idle_keys.add(reader.examined());
    if (!found.empty()) unsound[number] = point.cluster.traces();
    if (!sweep.problems().empty()) {  // a path that was refused would have set what is missing
      std::erase_if(found, [](const Problem& problem) { return problem.what == missing_key; });
    }
    of_points.add(point.settings, found);
    if (!unsound.empty() || !problems.empty()) continue;
    protocols.push_back(protocol_text(sweep, document, reader));
    point.protocol_name = protocols.back().whole.at("kind").get<std::string>();
    point.device_text = device_text(point, reader.resolved());
    point.key = point_key(reader.resolved());
    if (auto& model = point.model)
      model = models.try_emplace(model_text(point, reader.resolved()), model).first->second;
    if (number == 0) scenario.resolved = sweep.resolved(reader.resolved()).dump(2);
    scenario.points.push_back(std::move(point));
  }
  add(problems, of_points.problems());
  if (without_effect.empty())
    add(problems, problems_of_covered_values(sweep, reader_of_unused(file, changes)));
  for (const auto& [number, traces] : unsound) {
    std::vector<SweptValue> settings;
    if (sweep.points() > 1) idle_keys.spare(sweep.document(number, settings));
  }
  if (sweep.problems().empty() || sweep.points() == 1) add(problems, idle_keys.problems());
  if (!problems.empty()) throw ScenarioError(std::move(problems));
  name_points(scenario, protocols);
  LearnerColumns columns;
  for (const Point& point : scenario.points) {
    columns.encoding = columns.encoding || point.encode > 0 || point.decode > 0;
    columns.unused = columns.unused || point.make_protocol()->traits().bounds_staleness;
  }
  const bool any_tells_failures = std::ranges::any_of(scenario.points, &Point::tells_failures);
  const bool any_dual = std::ranges::any_of(
      scenario.points, [](const Point& point) { return point.dual().has_value(); });
  for (Point& point : scenario.points) {
    point.curve_has_gap = any_dual;
    point.learner_columns = columns;
    point.curve_has_members = any_tells_failures;
  }
  return scenario;
}

}  // namespace gradrace
