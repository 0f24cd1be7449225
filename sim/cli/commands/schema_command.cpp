#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "distributions/catalog.h"
#include "models/model.h"
#include "protocols/catalog.h"
#include "protocols/straggler_policy.h"
#include "protocols/switch_policy.h"
#include "sim/cli/commands/commands.h"
#include "sim/reading/reference.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

/// One of the catalog's objects, told apart by the discriminator.
template <class Product, class... Args>
Json catalog_schema(const Catalog<Product, Args...>& catalog, Args... args) {
  Json kinds = Json::array();
  for (const auto* entry : catalog.entries) {
    Reference reference;
    entry->read(reference, args...);
    Json kind = object_schema(reference.fields(), catalog.discriminator, entry->page.name);
    kind["description"] =
        std::string(entry->page.definition) + " Source: " + std::string(entry->page.source);
    kind["examples"] = Json::array({Json::parse(entry->page.example)});
    kinds.push_back(std::move(kind));
  }
  return {{"oneOf", std::move(kinds)}};
}

Json sweep_schema() {
  const Json list{{"type", "array"}, {"minItems", 1}};
  return {{"type", "object"},
          {"description",
           "dotted path -> list of values; several make the Cartesian product, those in zip walk "
           "in parallel"},
          {"properties", {{"zip", {{"type", "object"}, {"additionalProperties", list}}}}},
          {"additionalProperties", list}};
}

}  // namespace

int schema_command() {
  DataShelf shelf({}, {});
  const WorkBudget budget{};
  const Setting setting{std::numeric_limits<std::uint32_t>::max(), nullptr, budget};
  Reference reference;
  Point point;
  visit_scenario(reference, point, shelf);
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"title", "gradrace scenario"}};
  schema.update(object_schema(reference.fields()));
  schema["properties"]["$schema"] = {{"type", "string"}};
  schema["properties"]["sweep"] = sweep_schema();
  schema["properties"]["quick"] = {{"type", "object"},
                                   {"description", "dotted path -> value: what --quick changes"}};
  // A sweep may bring what the file leaves out.
  schema["required"] = Json::array();
  schema["definitions"] = {
      {"protocols", catalog_schema<MakeProtocol, const Setting&>(protocol_catalog(), setting)},
      {"distributions", catalog_schema(distribution_catalog())},
      {"persistence", catalog_schema(persistence_catalog())},
      {"models", catalog_schema<ModelProduct, DataShelf&>(model_catalog(), shelf)},
      {"datasets", catalog_schema<LoadDataset, DataShelf&>(dataset_catalog(), shelf)},
      {"policies", catalog_schema(switch_policy_catalog())},
      {"straggler-policies", catalog_schema(straggler_policy_catalog())},
      {"learning-rates",
       catalog_schema<LearningRateProduct, const WorkBudget&>(learning_rate_catalog(), budget)}};
  std::cout << schema.dump(2) << '\n';
  return 0;
}

}  // namespace gradrace
