#include "sim/reading/reference.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/message_text.h"

namespace gradrace {

using nlohmann::ordered_json;
using Type = FieldPage::Type;

namespace {

constexpr double largest_32_bit = std::numeric_limits<std::uint32_t>::max();

/// What stands behind a key in brackets.
std::string remarks(const FieldPage& field) {
  std::vector<std::string> parts;
  if (field.type == Type::reals) parts.emplace_back("list");
  if (field.type == Type::kind) parts.push_back("one of " + field.catalog);
  if (field.type == Type::kinds) parts.push_back("list of " + field.catalog);
  if (field.type == Type::pairs) parts.push_back("list of [" + joined(field.allowed) + "]");
  if (field.type == Type::choice) parts.push_back(joined(field.allowed, "|"));
  if (field.type == Type::any_object) parts.emplace_back("object");
  if (field.type == Type::object) parts.push_back(parameters_line(field.fields));
  if (field.type == Type::list)
    parts.push_back("list of {" + joined(field.fields, ", ", &FieldPage::key) + "}");
  if (const auto range = range_text(field.range, field.range.high_name); !range.empty())
    parts.push_back(range);
  if (!field.instead.empty()) parts.push_back("or " + field.instead);
  if (!field.default_value.empty() && field.default_value != R"("")") {
    const auto value = ordered_json::parse(field.default_value);
    parts.push_back("default " + (value.is_string() ? value.get<std::string>() : value.dump()));
  } else if (field.need != Need::required) {
    parts.emplace_back("optional");
  }
  return joined(parts);
}

ordered_json number_schema(std::string_view type, Range range) {
  if (type == "integer" && range.low < 0) range.low = 0, range.low_allowed = true;
  ordered_json schema = {{"type", type}};
  if (std::isfinite(range.low))
    schema[range.low_allowed ? "minimum" : "exclusiveMinimum"] =
        ordered_json::parse(json_number(range.low));
  if (std::isfinite(range.high) && range.high_name.empty())
    schema[range.high_allowed ? "maximum" : "exclusiveMaximum"] =
        ordered_json::parse(json_number(range.high));
  return schema;
}

ordered_json array_of(ordered_json items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

ordered_json type_schema(const FieldPage& field) {
  switch (field.type) {
    case Type::real:
      return number_schema("number", field.range);
    case Type::integer:
      return number_schema("integer", field.range);
    case Type::reals: {
      const auto number = number_schema("number", field.range);
      return {{"anyOf", ordered_json::array({number, array_of(number)})}};
    }
    case Type::pairs: {
      auto numbers = ordered_json::array();
      for (const Range& range : field.ranges) numbers.push_back(number_schema("number", range));
      return array_of(
          {{"type", "array"}, {"items", std::move(numbers)}, {"minItems", 2}, {"maxItems", 2}});
    }
    case Type::flag:
      return {{"type", "boolean"}};
    case Type::text:
      return {{"type", "string"}};
    case Type::choice:
      return {{"type", "string"}, {"enum", field.allowed}};
    case Type::any_object:
      return {{"type", "object"}};
    case Type::object:
      return object_schema(field.fields);
    case Type::list:
      return array_of(object_schema(field.fields));
    case Type::kind:
      return {{"$ref", "#/definitions/" + field.catalog}};
    case Type::kinds:
      return array_of({{"$ref", "#/definitions/" + field.catalog}});
  }
  return {};
}

ordered_json field_schema(const FieldPage& field) {
  auto schema = type_schema(field);
  if (!field.instead.empty()) {
    const ordered_json word =
        field.instead == "null" ? ordered_json() : ordered_json(field.instead);
    schema = {{"anyOf", ordered_json::array({schema, {{"const", word}}})}};
  }
  std::string description = field.meaning;
  if (!field.range.high_name.empty())
    description += std::string(description.empty() ? "" : "; ") +
                   (field.range.high_allowed ? "at most " : "less than ") +
                   std::string(field.range.high_name);
  if (!description.empty()) schema["description"] = description;
  if (!field.default_value.empty()) schema["default"] = ordered_json::parse(field.default_value);
  return schema;
}

/// Of a key that may have any of these forms.
ordered_json forms_schema(std::span<const FieldPage> forms) {
  if (forms.size() == 1) return field_schema(forms.front());
  auto schemas = ordered_json::array();
  for (const auto& form : forms) schemas.push_back(field_schema(form));
  return {{"anyOf", std::move(schemas)}};
}

/// Of a default; empty where it is no number.
std::string json_text(double value) { return std::isfinite(value) ? json_number(value) : ""; }
std::string json_text(const std::vector<double>& values) {
  auto items = ordered_json::array();
  for (const double value : values) items.push_back(ordered_json::parse(json_number(value)));
  return items.dump();
}
template <class Value>
std::string json_text(const Value& value) {
  return ordered_json(value).dump();
}

}  // namespace

std::string json_number(double value) {
  char text[40];
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  const auto end = whole ? std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(value))
                         : std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

std::string range_text(const Range& range, std::string_view high) {
  const bool has_low = std::isfinite(range.low);
  const bool has_high =
      std::isfinite(range.high) && (range.high != largest_32_bit || !range.high_name.empty());
  const std::string low_text = (range.low_allowed ? ">= " : "> ") + json_number(range.low);
  const std::string high_number = high.empty() ? json_number(range.high) : std::string(high);
  const std::string high_text = (range.high_allowed ? "<= " : "< ") + high_number;
  if (has_low && has_high && range.low_allowed && range.high_allowed)
    return json_number(range.low) + " to " + high_number;
  if (has_low && has_high) return low_text + " and " + high_text;
  if (has_low) return low_text;
  return has_high ? high_text : "";
}

FieldPage& Reference::add(std::string_view key, Type type, Need need, std::string_view meaning) {
  auto& fields = open_fields();
  fields.push_back(
      {.key = std::string(key), .type = type, .need = need, .meaning = std::string(meaning)});
  return fields.back();
}

void Reference::visit(const Key& key, Variable variable) {
  constexpr Type types[] = {Type::real, Type::integer, Type::flag, Type::text, Type::reals};
  const Type type = key.allowed.empty() ? types[variable.index()] : Type::choice;
  auto& page = add(key.name, type, key.need, key.meaning);
  page.range = key.range;
  page.allowed.assign(key.allowed.begin(), key.allowed.end());
  page.instead = key.instead;
  if (key.need == Need::defaulted)
    page.default_value = std::visit([](auto* value) { return json_text(*value); }, variable);
}

void Reference::path(std::string_view key, Location& location, Need need,
                     std::string_view meaning) {
  text(key, location.name, need, meaning);
}

void Reference::pairs(std::string_view key, std::vector<std::array<double, 2>>&, Need need,
                      const PairPart& first, const PairPart& second, std::string_view meaning) {
  auto& page = add(key, Type::pairs, need, meaning);
  for (const PairPart& part : {first, second}) {
    page.allowed.emplace_back(part.name);
    page.ranges.push_back(part.range);
  }
}

void Reference::any_object(std::string_view key, std::string&, std::string_view meaning) {
  add(key, Type::any_object, Need::none, meaning);
}

void Reference::open(std::string_view key, Type type, Need need, std::string_view meaning) {
  const std::size_t index = open_fields().size();
  add(key, type, need, meaning);
  path_.push_back(index);
}

bool Reference::open(std::string_view key, Need need, std::string_view meaning) {
  open(key, Type::object, need, meaning);
  return true;
}

std::optional<std::size_t> Reference::open_kind(std::string_view key, const Kinds& kinds, Need need,
                                                std::string_view meaning) {
  add(key, Type::kind, need, meaning).catalog = kinds.catalog;
  return {};
}

std::size_t Reference::open_kinds(std::string_view key, const Kinds& kinds, Need need,
                                  std::string_view meaning) {
  add(key, Type::kinds, need, meaning).catalog = kinds.catalog;
  return 0;
}

std::optional<std::size_t> Reference::next_kind(std::size_t) { return {}; }

std::size_t Reference::open_list(std::string_view key, Need need, std::string_view meaning) {
  open(key, Type::list, need, meaning);
  return 1;
}

void Reference::open_item(std::size_t) { path_.push_back(item); }

void Reference::close() { path_.pop_back(); }

void Reference::complain(std::string_view, std::string, std::string) {}

void Reference::lacks(std::string_view, const MissingPlace&) {}

std::vector<FieldPage>& Reference::open_fields() {
  auto* fields = &fields_;
  for (const std::size_t index : path_) {
    if (index != item) fields = &(*fields)[index].fields;
  }
  return *fields;
}

std::string parameters_line(const std::vector<FieldPage>& fields) {
  std::vector<std::string> parts;
  for (const auto& field : fields) {
    const std::string remark = remarks(field);
    parts.push_back(remark.empty() ? field.key : field.key + " (" + remark + ")");
  }
  return joined(parts);
}

ordered_json object_schema(const std::vector<FieldPage>& fields, std::string_view discriminator,
                           std::string_view kind, std::string_view otherwise) {
  auto properties = ordered_json::object();
  auto required = ordered_json::array();
  if (!discriminator.empty()) {
    properties[std::string(discriminator)] = {{"const", kind}};
    if (kind != otherwise) required.push_back(discriminator);
  }
  for (auto form = fields.begin(); form != fields.end();) {
    const auto end = std::find_if(form, fields.end(),
                                  [&](const FieldPage& field) { return field.key != form->key; });
    if (form->need == Need::required) required.push_back(form->key);
    properties[form->key] = forms_schema({form, end});
    form = end;
  }
  ordered_json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

}  // namespace gradrace
