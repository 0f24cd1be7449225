#include <iostream>
#include <nlohmann/json.hpp>

#include "sim/cli/commands/catalogs.h"
#include "sim/cli/commands/commands.h"
#include "sim/cli/scenario/scenario.h"
#include "sim/cli/scenario/spaced_values.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

/// Paragraphs and equations one after another.
std::string on_one_line(std::string_view text) {
  std::string line;
  bool broken = false;
  for (const char c : text) {
    if (c == '\n' && !broken) line += ' ';
    broken = c == '\n' || (broken && c == ' ');
    if (!broken) line += c;
  }
  return line;
}

/// One of the catalog's objects, told apart by the discriminator.
Json catalog_schema(const CatalogPages& catalog) {
  Json kinds = Json::array();
  for (const auto& [page, fields] : catalog.kinds) {
    Json kind = object_schema(fields, catalog.discriminator, page->name, catalog.otherwise);
    kind["description"] = on_one_line(page->definition) + " Source: " + std::string(page->source);
    kind["examples"] = Json::array({Json::parse(page->example)});
    kinds.push_back(std::move(kind));
  }
  return {{"oneOf", std::move(kinds)}};
}

Json sweep_schema() {
  Reference reference;
  SpacedValues spaced;
  visit(reference, spaced);
  Json written_by_ends = object_schema(reference.fields());
  written_by_ends["oneOf"] = {{{"required", {"log"}}}, {{"required", {"linear"}}}};
  const Json list{{"anyOf", {{{"type", "array"}, {"minItems", 1}}, written_by_ends}}};
  return {{"type", "object"},
          {"properties", {{"zip", {{"type", "object"}, {"additionalProperties", list}}}}},
          {"additionalProperties", list}};
}

}  // namespace

static int schema(const Words& words) {
  Syntax syntax;
  if (!parse(schema_command, words, syntax)) return 0;
  Json text{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "gradrace scenario"}};
  text.update(object_schema(scenario_fields()));
  Json& keys = text["properties"];
  keys["$schema"] = {{"type", "string"}};
  keys["sweep"] = sweep_schema();
  keys["quick"] = {{"type", "object"}};
  for (const FileKey& key : file_keys) keys[std::string(key.name)]["description"] = key.meaning;
  // A sweep may bring what the file leaves out.
  text["required"] = Json::array();
  for (const auto& catalog : catalog_pages())
    text["definitions"][std::string(catalog.name)] = catalog_schema(catalog);
  std::cout << text.dump(2) << '\n';
  return 0;
}

extern const Command schema_command{"schema", "prints the JSON Schema (draft 7) of scenario files",
                                    "  gradrace schema\n\n"
                                    "Example:\n"
                                    "  gradrace schema > scenarios/schema.json\n",
                                    schema};

}  // namespace gradrace
