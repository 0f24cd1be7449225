#include "sim/cli/scenario/labels.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "sim/cli/scenario/identity.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

bool chooses(std::string_view key) { return key == "kind" || key == "distribution"; }

bool lists_objects(const Json& value) {
  return value.is_array() && !value.empty() && std::ranges::all_of(value, &Json::is_object);
}

/// What two values have in common, key by key, and item by item in lists of objects; else null.
Json common(const Json& one, const Json& other) {
  if (one == other) return one;
  Json shared;
  if (one.is_object() && other.is_object()) {
    for (const auto& [key, value] : one.items()) {
      if (other.contains(key)) shared[key] = common(value, other[key]);
    }
  } else if (lists_objects(one) && lists_objects(other) && one.size() == other.size()) {
    for (std::size_t i = 0; i < one.size(); ++i) shared.push_back(common(one[i], other[i]));
  }
  return shared;
}

/// "[7x1,0.5]" of seven times 1 and then 0.5, cut where it is long; [1,1,1] as it is.
std::string list_text(const Json& list) {
  constexpr int most_parts = 8;
  std::string text;
  int parts = 0;
  for (auto item = list.begin(); item != list.end(); ++parts) {
    const auto other =
        std::find_if(item, list.end(), [&](const Json& one) { return one != *item; });
    const auto alike = other - item;
    const bool counts = alike > 2 && list.size() > 3;
    const auto used = counts ? alike : 1;
    text += parts > 0 ? "," : "";
    if (parts == most_parts) return "[" + text + "...]";
    text += (counts ? std::to_string(alike) + "x" : "") + item->dump();
    item += used;
  }
  return "[" + text + "]";
}

/// What of a value's label is left out: what it shares with others, but for kinds if they stay.
struct Known {
  Json shared;
  bool kinds_stay = true;

  Known of(const std::string& key) const {
    return {shared.is_object() ? shared.value(key, Json()) : Json(), kinds_stay};
  }
  Known of(std::size_t item) const {
    return {shared.is_array() ? shared[item] : Json(), kinds_stay};
  }
};

using Parts = std::vector<Label::Part>;

Parts operator+(Parts one, const Parts& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

Parts word(std::string text) { return {{"", std::move(text)}}; }

Parts parts_of(const Json& object, const Known& known);

/// "parts exponential mean=1 and pareto shape=2" of a list of objects, "sync then async" of phases.
Parts parts_of_list(const std::string& key, const Json& list, const Known& known) {
  const bool in_turn = key == "phases";
  Parts parts = in_turn ? Parts() : word(key);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) parts = parts + word(in_turn ? "then" : "and");
    parts = parts + parts_of(list[i], known.of(i));
  }
  return parts;
}

/// What a label says of a key.
Parts parts_of(const std::string& key, const Json& value, const Known& known) {
  if (lists_objects(value)) return parts_of_list(key, value, known);
  if (value.is_object()) {
    const bool is_named_by_kind = key == "protocol" || value.contains("kind");
    const Parts name = key == "end" ? word("until") : is_named_by_kind ? Parts() : word(key);
    return name + parts_of(value, known);
  }
  const std::string text = value.is_string()  ? value.get<std::string>()
                           : value.is_array() ? list_text(value)
                                              : value.dump();
  return {{chooses(key) ? "" : key, text}};
}

/// "sync work=0.25" of {"kind": "sync", "work": 0.25}.
Parts parts_of(const Json& object, const Known& known) {
  Parts parts;
  for (const auto& [key, value] : object.items()) {
    const Known of_key = known.of(key);
    const bool stays = known.kinds_stay && (chooses(key) || key == "protocol" || key == "phases");
    if (of_key.shared == value && !stays) continue;
    parts = parts + parts_of(key, value, of_key);
  }
  return parts;
}

/// Protocols of one kind.
struct Family {
  Json shared;
  bool alike = true;
};

/// The protocol of each point, without what all of its kind share if they differ.
std::vector<Parts> protocol_labels(const std::vector<ProtocolText>& protocols) {
  std::map<std::string, Family> families;
  for (const auto& [protocol, told] : protocols) {
    const auto [found, added] = families.try_emplace(protocol["kind"], Family{protocol});
    if (added || found->second.shared == protocol) continue;
    found->second = {common(found->second.shared, protocol), false};
  }
  std::vector<Parts> labels;
  for (const auto& [protocol, told] : protocols) {
    const Family& family = families.at(protocol["kind"]);
    labels.push_back(family.alike ? parts_of(told.is_null() ? protocol : told, {})
                                  : parts_of(protocol, {family.shared}));
  }
  return labels;
}

/// To four digits, where these tell the numbers apart, "0.02154" of 0.0215443469003; [cell].
std::map<std::string, Json> shortened(const std::map<std::string, Json>& values) {
  constexpr std::size_t short_enough = 8;
  std::map<std::string, Json> texts;
  std::set<std::string> different;
  for (const auto& [cell, value] : values) {
    if (!value.is_number()) return values;
    const bool is_long = value.is_number_float() && cell.size() > short_enough;
    texts[cell] = *different.insert(is_long ? short_number(value.get<double>()) : cell).first;
  }
  return different.size() == values.size() ? texts : values;
}

/// Files by their names, without the folders that they are in, where that tells them apart.
std::map<std::string, Json> with_file_names(const std::string& key,
                                            const std::map<std::string, Json>& values) {
  std::map<std::string, Json> texts;
  std::set<Json> different;
  for (const auto& [text, value] : values)
    different.insert(texts[text] = with_short_paths({{key, value}})[key]);
  return different.size() == values.size() ? texts : values;
}

/// Of each value of a swept path, without what all have in common: "staleness eta=0.1" of an
/// object, "learners=16" of a plain value, "pareto" of a kind.
std::map<std::string, Parts> swept_labels(const std::vector<Point>& points, std::size_t place,
                                          const std::string& path) {
  std::map<std::string, Json> values;
  for (const auto& point : points) {
    const SweptValue& setting = point.settings[place];
    values.try_emplace(setting.cell(), setting.value);
  }
  const std::string last = path.substr(path.rfind('.') + 1);
  values = shortened(with_file_names(last, values));
  Json shared = values.begin()->second;
  for (const auto& [text, value] : values) shared = common(shared, value);
  const Known known{values.size() > 1 ? shared : Json(), false};
  const std::string key = chooses(last) ? last : path.substr(path.find('.') + 1);
  std::map<std::string, Parts> labels;
  for (const auto& [text, value] : values)
    labels[text] = value.is_object() ? parts_of(value, known) : parts_of(key, value, known);
  return labels;
}

using PartsOfPoints = std::vector<Parts>;  // [point]

/// Labels of such parts.
std::vector<Label> together(const std::vector<PartsOfPoints>& parts) {
  std::vector<Label> labels(parts.front().size());
  for (const PartsOfPoints& some : parts)
    for (std::size_t point = 0; point < labels.size(); ++point)
      labels[point].parts = std::move(labels[point].parts) + some[point];
  return labels;
}

std::size_t told_apart(const std::vector<PartsOfPoints>& parts) {
  std::set<std::string> texts;
  for (const Label& label : together(parts)) texts.insert(label.text());
  return texts.size();
}

/// Leaves out the values of swept paths without which the labels tell as many points apart, the
/// last ones first: of lists that walk in parallel.
void leave_out_what_others_tell(std::vector<PartsOfPoints>& parts) {
  const std::size_t wanted = told_apart(parts);
  for (std::size_t i = parts.size(); i-- > 1;) {
    std::vector<PartsOfPoints> others = parts;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    if (told_apart(others) == wanted) parts = std::move(others);
  }
}

}  // namespace

void name_points(Scenario& scenario, const std::vector<ProtocolText>& protocols) {
  std::vector<Point>& points = scenario.points;
  std::vector<PartsOfPoints> parts{protocol_labels(protocols)};
  for (std::size_t i = 0; i < scenario.swept_paths.size(); ++i) {
    const std::string& path = scenario.swept_paths[i];
    if (path.substr(0, path.find('.')) == "protocol") continue;
    const auto of_value = swept_labels(points, i, path);
    PartsOfPoints& part = parts.emplace_back();
    for (const auto& point : points) part.push_back(of_value.at(point.settings[i].cell()));
  }
  if (points.size() > 1) leave_out_what_others_tell(parts);
  std::vector<Label> labels = together(parts);
  std::map<std::string, int> uses;
  for (Label& label : labels) {
    for (auto& [key, text] : label.parts) key = printable(key), text = printable(text);
    ++uses[label.text()];
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].label = std::move(labels[i]);
    auto& told = points[i].label.parts;
    if (uses[points[i].label.text()] > 1) told.push_back({"", "(point " + std::to_string(i) + ")"});
  }
}

}  // namespace gradrace
