#include "sim/cli/scenario/sweep.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "sim/cli/scenario/each_path.h"
#include "sim/cli/scenario/spaced_values.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"
#include "sim/reading/json_places.h"
#include "sim/reading/reference.h"

namespace gradrace {

const std::string_view sweep_page =
    "Dotted path -> list of values: a point for each. A number in a path selects from an array. "
    "Paths are of cluster, model, optimiser, compression, protocol, stop and learning_rate; for "
    "several seeds use replicas.\n"
    "\n"
    "Several keys multiply, the first slowest: 3 x 2 points of\n"
    R"(  "sweep": {"protocol.k": [1, 2, 4], "learning_rate.eta": [0.01, 0.1]})"
    "\n\n"
    "zip walks lists of one length in parallel: 3 points, whose rates grow with K, of\n"
    R"(  "sweep": {"zip": {"protocol.k": [1, 2, 4], "learning_rate.eta": [0.01, 0.02, 0.04]}})"
    "\nOther keys beside it multiply with it.\n"
    "\n"
    "A list may be written by its ends, also in zip: 7 values with equal ratios, 11 with equal "
    "steps. Both ends are exact, values between them have 12 significant digits.\n"
    R"(  "sweep": {"learning_rate.eta": {"from": 0.01, "to": 1, "log": 7}})"
    "\n"
    R"(  "sweep": {"cluster.learners": {"from": 10, "to": 20, "linear": 11}})"
    "\n\n"
    "Values may be whole objects; a part comes before its keys.\n"
    R"(  "sweep": {"protocol": [{"kind": "sync"}, {"kind": "k-async", "k": 2}]})"
    "\n";

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_points = 1'000'000;
constexpr std::array<std::string_view, 7> sweepable{
    "cluster", "model", "optimiser", "compression", "protocol", "stop", "learning_rate"};

void make_paths_absolute(Json& value, const Locator& locator) {
  each_path(value, [&](Json& path) {
    const auto found = locator.find(path.get<std::string>()).found;
    if (!found.empty() && is_utf8(found.string())) path = found.string();  // as JSON has to be
  });
}

SweptValue setting_of(const std::string& path, const Json& value, const Locator& locator) {
  if (value.is_primitive() && !value.is_string()) return {path, value};
  Json named = {{path, value}};
  make_paths_absolute(named, locator);
  return {path, std::move(named[path])};
}

Json::json_pointer pointer_of(std::string_view dotted) {
  return Json::json_pointer(pointer_along(dotted));
}

}  // namespace

bool is_within(std::string_view path, std::string_view part) {
  if (!path.starts_with(part)) return false;
  return path.size() == part.size() || path[part.size()] == '.' || path[part.size()] == '[';
}

bool is_sweepable(std::string_view path) {
  return std::ranges::find(sweepable, path.substr(0, path.find('.'))) != sweepable.end();
}

Sweep::Sweep(const Document& base, const Locator& locator)
    : base_(base), whole_(base), frame_(base), locator_(locator) {
  const auto found = base.root().find("sweep");
  if (found == base.root().end()) return;
  if (!found->is_object())
    complain("/sweep", "expected an object of lists");
  else
    for (const auto& [key, value] : found->items()) {
      if (key != "zip") {
        add_axis("/sweep", {{key, value}}, false);
      } else if (value.is_object() && !value.empty()) {
        add_axis("/sweep/zip", value, true);
      } else {
        complain("/sweep/zip", "expected an object of lists");
      }
    }
  frame_ = whole_;
  frame_.set_aside("sweep");
  std::size_t count = 1;
  for (const auto& axis : axes_) {
    count *= axis.length;
    if (count <= most_points) continue;
    complain("/sweep", "makes more than " + std::to_string(most_points) + " points");
    axes_.clear();
    return;
  }
}

std::size_t Sweep::length_of(const std::string& pointer, const Json& list) {
  if (is_spaced(base_, pointer)) {
    const auto values = read_spaced(base_, pointer, problems_);
    if (!values) return 0;
    Json written = Json::array();
    for (const double value : *values) written.push_back(Json::parse(json_number(value)));
    whole_.replace(pointer, std::move(written));
    return values->size();
  }
  if (list.is_array() && !list.empty()) return list.size();
  complain(pointer, "expected a list of values, got " + list.dump(),
           R"([1, 2, 4], {"from": 0.01, "to": 1, "log": 7}, {"from": 0, "to": 10, "linear": 11})");
  return 0;
}

void Sweep::add_axis(const std::string& where, const Json& lists, bool zip) {
  Axis axis;
  for (const auto& [path, list] : lists.items()) {
    const std::string pointer = child_pointer(where, path);
    if (!allowed(path, pointer, axis)) continue;
    const std::size_t length = length_of(pointer, list);
    if (length == 0) continue;
    if (zip && !axis.paths.empty() && length != axis.length) {
      complain(pointer, "lists walk in parallel, so they are equally long: expected " +
                            count_text(axis.length, "value") + ", got " + std::to_string(length));
    } else {
      axis.length = length;
      axis.paths.push_back(path);
      axis.pointers.push_back(pointer);
    }
  }
  if (!axis.paths.empty()) axes_.push_back(std::move(axis));
}

/// A path may go on where an earlier one ends (protocol, then protocol.k), but not set again what
/// is set.
bool Sweep::is_set_already(const std::string& path, const Axis& axis) const {
  std::vector<std::string> earlier_paths = paths();
  earlier_paths.insert(earlier_paths.end(), axis.paths.begin(), axis.paths.end());
  return std::ranges::any_of(earlier_paths,
                             [&](const auto& earlier) { return is_within(earlier, path); });
}

/// Not in "protocol": "sync" and the like: a section is an object, which is told where the scenario
/// is read.
bool Sweep::has_keys_above(const std::string& path, const Axis& axis) const {
  const std::string section = path.substr(0, path.find('.'));
  const auto place = pointer_of(section);
  return section == path || is_set_already(section, axis) || !base_.root().contains(place) ||
         base_.root().at(place).is_structured();
}

bool Sweep::allowed(const std::string& path, const std::string& pointer, const Axis& axis) {
  if (is_set_already(path, axis)) {
    complain(
        pointer,
        "sets again what an earlier path of the sweep sets; a whole part comes before its keys");
    return false;
  }
  if (is_sweepable(path)) return has_keys_above(path, axis);
  const std::string section = path.substr(0, path.find('.'));
  Problem problem = base_.problem(pointer, "this cannot be swept");
  for (const auto name : sweepable) {
    problem.allowed += (problem.allowed.empty() ? "paths in " : ", ") + std::string(name);
  }
  if (section == "seed") problem.allowed += "; for several seeds use replicas";
  problems_.push_back(std::move(problem));
  return false;
}

void Sweep::complain(const std::string& pointer, std::string what, std::string allowed) {
  problems_.push_back(base_.problem(pointer, std::move(what)));
  problems_.back().allowed = std::move(allowed);
}

std::size_t Sweep::points() const {
  std::size_t count = 1;
  for (const auto& axis : axes_) count *= axis.length;
  return count;
}

std::vector<std::string> Sweep::paths() const {
  std::vector<std::string> result;
  for (const auto& axis : axes_) result.insert(result.end(), axis.paths.begin(), axis.paths.end());
  return result;
}

std::vector<Sweep::Place> Sweep::places(std::size_t number) const {
  std::vector<Place> places;
  std::size_t slower = points();
  for (const auto& axis : axes_) {
    slower /= axis.length;
    const std::string item = "/" + std::to_string(number / slower % axis.length);
    for (std::size_t i = 0; i < axis.paths.size(); ++i)
      places.push_back({axis.paths[i], axis.pointers[i] + item});
  }
  return places;
}

Document Sweep::document(std::size_t number, std::vector<SweptValue>& settings) const {
  Document document = frame_;
  for (const auto& [path, pointer] : places(number)) {
    settings.push_back(setting_of(path, whole_.root().at(Json::json_pointer(pointer)), locator_));
    document.set(path, pointer);
  }
  return document;
}

std::optional<std::string> Sweep::covered(const std::string& path, std::size_t number) const {
  std::string place = pointer_along(path);
  for (const auto& [other, pointer] : places(number)) {
    if (path.starts_with(other + "."))
      place = pointer + pointer_along(path.substr(other.size() + 1));
  }
  if (whole_.root().contains(Json::json_pointer(place))) return place;
  return {};
}

Document Sweep::without(const std::string& path, std::size_t number) const {
  Document document = frame_;
  for (const auto& [other, pointer] : places(number))
    if (!is_within(other, path)) document.set(other, pointer);
  return document;
}

const std::string* Sweep::covers(std::string_view path) const {
  for (const auto& axis : axes_) {
    const auto found = std::ranges::find_if(
        axis.paths, [&](const std::string& swept) { return is_within(path, swept); });
    if (found != axis.paths.end()) return &*found;
  }
  return nullptr;
}

Json Sweep::resolved(const Json& first) const {
  Json result = first;
  for (const auto& path : paths()) {
    const auto last = path.rfind('.');
    const std::string leaf = path.substr(last == std::string::npos ? 0 : last + 1);
    const bool chooses = leaf == "kind" || leaf == "distribution";
    const auto place =
        pointer_of(chooses && last != std::string::npos ? path.substr(0, last) : path);
    if (base_.root().contains(place)) {
      result[place] = base_.root().at(place);
    } else if (const auto parent = place.parent_pointer();
               result.contains(parent) && result.at(parent).is_object()) {
      result.at(parent).erase(place.back());
    }
  }
  if (const auto sweep = base_.root().find("sweep"); sweep != base_.root().end()) {
    result["sweep"] = *sweep;
  }
  result.erase("$schema");
  make_paths_absolute(result, locator_);
  return result;
}

}  // namespace gradrace
