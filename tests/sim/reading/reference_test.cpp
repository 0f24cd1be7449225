#include "sim/reading/reference.h"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/catalog.h"

namespace gradrace::reference_test {

using nlohmann::ordered_json;

using Number = std::shared_ptr<double>;

static Number read_constant(Fields& fields) {
  double value = 1;
  fields.real("value", value, Need::required, positive(), "the number");
  return fields.good() ? std::make_shared<double>(value) : nullptr;
}

static const Catalog<Number>& numbers() {
  static const Entry<Number> constant = {{"constant", "", "", ""}, read_constant};
  static const std::array<const Entry<Number>*, 1> entries = {&constant};
  static const Catalog<Number> catalog = {"numbers", "kind", entries};
  return catalog;
}

/// A field of each sort.
static void visit_toy(Fields& fields, std::uint32_t learners) {
  static constexpr std::array<std::string_view, 2> modes = {"bootstrap", "block"};
  std::uint32_t k = 1;
  std::uint64_t seed = 7;
  double mean = 0, l2 = 0, cap = std::numeric_limits<double>::infinity(), momentum = 0.9, share = 0;
  bool nesterov = false;
  std::string path, column = "time", title, mode = "bootstrap";
  std::vector<double> at = {0.5, 1}, means;
  std::optional<double> time;
  std::optional<std::uint64_t> updates;
  Number number;
  std::vector<Number> parts;
  fields.integer("k", k, Need::required, between(1, learners, "cluster.learners"), "gradients");
  fields.integer("seed", seed, Need::defaulted, anything(), "");
  fields.integer("rows", k, Need::none, at_least(1), "rows read");
  fields.real("mean", mean, Need::required, positive(), "the mean");
  fields.real("l2", l2, Need::defaulted, at_least(0), "");
  fields.real("cap", cap, Need::defaulted, positive(), "");
  fields.real("share", share, Need::required,
              {.low = 0, .high = 1, .low_allowed = false, .high_allowed = true}, "");
  fields.real("time", time, greater_than(0), "");
  fields.integer("updates", updates, between(1, 100), "");
  fields.text("path", path, Need::required, "where it lies");
  fields.text("column", column, Need::defaulted, "");
  fields.text("title", title, Need::defaulted, "");
  fields.choice("mode", mode, modes, Need::defaulted, "how to draw");
  fields.reals("at", at, Need::defaulted, positive(), "");
  fields.reals("means", means, Need::required, from_below(0, 1), "");
  if (fields.open("optimiser", Need::none, "how to step")) {
    fields.real("momentum", momentum, Need::defaulted, from_below(0, 1), "");
    fields.flag("nesterov", nesterov, Need::defaulted, "");
    fields.close();
  }
  read_kind(fields, "number", numbers(), number, Need::required, "which number");
  read_kinds(fields, "parts", numbers(), parts, Need::none, "");
  if (const auto count = fields.open_list("windows", Need::none, "when it is slow"); count > 0) {
    for (std::size_t i = 0; i < count; ++i) {
      fields.open_item(i);
      fields.real("start", mean, Need::required, at_least(0), "when it begins");
      if (fields.open("load", Need::none, "")) {
        fields.real("factor", l2, Need::defaulted, positive(), "");
        fields.close();
      }
      fields.close();
    }
    fields.close();
  }
  fields.text("last", title, Need::required, "");
}

static std::vector<FieldPage> toy_fields() {
  Reference reference;
  visit_toy(reference, 1);
  return reference.fields();
}

TEST_CASE("reference: every field is written down in the order of visiting") {
  const auto fields = toy_fields();
  std::string keys;
  for (const auto& field : fields) keys += field.key + " ";
  CHECK(keys ==
        "k seed rows mean l2 cap share time updates path column title mode at means optimiser "
        "number parts windows last ");
  CHECK(fields[0].type == FieldPage::Type::integer);
  CHECK(fields[0].need == Need::required);
  CHECK(fields[0].range.high_name == "cluster.learners");
  CHECK(fields[0].meaning == "gradients");
  CHECK(fields[0].default_value == "");
  CHECK(fields[1].default_value == "7");
  CHECK(fields[5].default_value == "");
  CHECK(fields[12].allowed == std::vector<std::string>{"bootstrap", "block"});
  CHECK(fields[12].default_value == "\"bootstrap\"");
  CHECK(fields[13].default_value == "[0.5,1]");
  REQUIRE(fields[15].fields.size() == 2);
  CHECK(fields[15].fields[0].key == "momentum");
  CHECK(fields[15].fields[0].default_value == "0.9");
  CHECK(fields[16].catalog == "numbers");
  CHECK(fields[18].type == FieldPage::Type::list);
  REQUIRE(fields[18].fields.size() == 2);
  CHECK(fields[18].fields[0].key == "start");
  CHECK(fields[18].fields[1].fields[0].key == "factor");
}

TEST_CASE("reference: no product is made") {
  Reference reference;
  CHECK_FALSE(reference.good());
  CHECK(read_constant(reference) == nullptr);
  reference.complain("x", "nothing happens");
  CHECK(reference.fields().size() == 1);
}

TEST_CASE("reference: the parameters of a kind fit a line") {
  CHECK(parameters_line({}) == "");
  CHECK(parameters_line(toy_fields()) ==
        "k (1 to cluster.learners), seed (default 7), rows (>= 1, optional), mean (> 0), "
        "l2 (>= 0, default 0), cap (> 0, optional), share (> 0 and <= 1), time (> 0, optional), "
        "updates (1 to 100, optional), path, column (default time), title (optional), "
        "mode (bootstrap|block, default bootstrap), at (list, > 0, default [0.5,1]), "
        "means (list, >= 0 and < 1), "
        "optimiser (momentum (>= 0 and < 1, default 0.9), nesterov (default false), optional), "
        "number (one of numbers), parts (list of numbers, optional), "
        "windows (list of {start, load}, optional), "
        "last");
}

TEST_CASE("reference: a number in whose place a word or null may stand is either") {
  Reference reference;
  std::optional<double> x = 2.5;
  std::optional<std::uint64_t> n = 4;
  reference.real("x", x, "null", positive(), "");
  reference.integer("n", n, "all", at_least(1), "");
  CHECK(parameters_line(reference.fields()) ==
        "x (> 0, or null, default 2.5), n (>= 1, or all, default 4)");
  CHECK(object_schema(reference.fields())["properties"].dump() ==
        R"({"x":{"anyOf":[{"type":"number","exclusiveMinimum":0},{"const":null}],"default":2.5},)"
        R"("n":{"anyOf":[{"type":"integer","minimum":1},{"const":"all"}],"default":4}})");
}

TEST_CASE("reference: a key that has several forms has a schema of any of them") {
  Reference reference;
  std::uint32_t whole = 1;
  std::vector<std::array<double, 2>> pairs;
  if (reference.is("x", Form::number))
    reference.integer("x", whole, Need::required, at_least(1), "");
  if (reference.is("x", Form::list)) {
    reference.pairs("x", pairs, Need::required, {"from", at_least(0)}, {"to", anything()}, "pairs");
  }
  CHECK(parameters_line(reference.fields()) == "x (>= 1), x (list of [from, to])");
  const auto schema = object_schema(reference.fields());
  CHECK(schema["required"].dump() == R"(["x"])");
  CHECK(schema["properties"]["x"].dump() ==
        R"({"anyOf":[{"type":"integer","minimum":1,"maximum":4294967295},)"
        R"({"type":"array","items":{"type":"array",)"
        R"("items":[{"type":"number","minimum":0},{"type":"number"}],"minItems":2,"maxItems":2},)"
        R"("description":"pairs"}]})");
}

TEST_CASE("reference: a number of each learner is a number or a list") {
  Reference reference;
  PerLearner x = 8;
  reference.per_learner("x", x, Need::defaulted, at_least(1), "rows", "of each learner");
  CHECK(parameters_line(reference.fields()) == "x (>= 1, default 8), x (list, >= 1, optional)");
}

TEST_CASE("reference: numbers are written as JSON, whole ones without a fraction") {
  CHECK(json_number(0) == "0");
  CHECK(json_number(-3) == "-3");
  CHECK(json_number(100000) == "100000");
  CHECK(json_number(0.1) == "0.1");
  CHECK(json_number(1e-5) == "1e-05");
  CHECK(json_number(1e300) == "1e+300");
  CHECK(ordered_json::parse(json_number(1.0 / 3)) == 1.0 / 3);
}

TEST_CASE("reference: a range reads as a sentence would say it") {
  CHECK(range_text(anything()) == "");
  CHECK(range_text(positive()) == "> 0");
  CHECK(range_text(at_least(1)) == ">= 1");
  CHECK(range_text(between(1, 8)) == "1 to 8");
  CHECK(range_text(between(1, 8), "P") == "1 to P");
  CHECK(range_text(from_below(0, 1)) == ">= 0 and < 1");
  CHECK(range_text({.high = 2}) == "<= 2");
  CHECK(range_text(between(1, 4294967295.0)) == ">= 1");
  CHECK(range_text(between(1, 4294967295.0, "P"), "P") == "1 to P");
}

TEST_CASE("reference: the schema of an object says type, range, default and meaning of each key") {
  const auto schema = object_schema(toy_fields(), "distribution", "toy");
  CHECK(schema["type"] == "object");
  CHECK(schema["additionalProperties"] == false);
  CHECK(schema["required"].dump() ==
        R"(["distribution","k","mean","share","path","means","number","last"])");
  std::string properties;
  for (const auto& [key, property] : schema["properties"].items())
    properties += key + " " + property.dump() + "\n";
  CHECK(properties ==
        R"(distribution {"const":"toy"}
k {"type":"integer","minimum":1,"description":"gradients; at most cluster.learners"}
seed {"type":"integer","minimum":0,"default":7}
rows {"type":"integer","minimum":1,"maximum":4294967295,"description":"rows read"}
mean {"type":"number","exclusiveMinimum":0,"description":"the mean"}
l2 {"type":"number","minimum":0,"default":0}
cap {"type":"number","exclusiveMinimum":0}
share {"type":"number","exclusiveMinimum":0,"maximum":1}
time {"type":"number","exclusiveMinimum":0}
updates {"type":"integer","minimum":1,"maximum":100}
path {"type":"string","description":"where it lies"}
column {"type":"string","default":"time"}
title {"type":"string","default":""}
mode {"type":"string","enum":["bootstrap","block"],"description":"how to draw","default":"bootstrap"}
at {"anyOf":[{"type":"number","exclusiveMinimum":0},{"type":"array","items":{"type":"number","exclusiveMinimum":0}}],"default":[0.5,1]}
means {"anyOf":[{"type":"number","minimum":0,"exclusiveMaximum":1},{"type":"array","items":{"type":"number","minimum":0,"exclusiveMaximum":1}}]}
optimiser {"type":"object","properties":{"momentum":{"type":"number","minimum":0,"exclusiveMaximum":1,"default":0.9},"nesterov":{"type":"boolean","default":false}},"additionalProperties":false,"description":"how to step"}
number {"$ref":"#/definitions/numbers","description":"which number"}
parts {"type":"array","items":{"$ref":"#/definitions/numbers"}}
windows {"type":"array","items":{"type":"object","properties":{"start":{"type":"number","minimum":0,"description":"when it begins"},"load":{"type":"object","properties":{"factor":{"type":"number","exclusiveMinimum":0,"default":0}},"additionalProperties":false}},"required":["start"],"additionalProperties":false},"description":"when it is slow"}
last {"type":"string"}
)");
}

TEST_CASE("reference: without a discriminator or required keys the schema asks for none") {
  CHECK(object_schema({}).dump() ==
        R"({"type":"object","properties":{},"additionalProperties":false})");
}

TEST_CASE("reference: the kind that is meant where none is named may lack its discriminator") {
  CHECK(!object_schema({}, "kind", "plain", "plain").contains("required"));
  CHECK(object_schema({}, "kind", "other", "plain")["required"].dump() == R"(["kind"])");
}

}  // namespace gradrace::reference_test
