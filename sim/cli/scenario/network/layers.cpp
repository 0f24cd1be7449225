#include "sim/layers.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "distributions/fit/table.h"
#include "sim/cli/python.h"
#include "sim/cli/scenario/network/network.h"
#include "sim/message_text.h"

namespace gradrace {
namespace {

namespace fs = std::filesystem;

/// The numbers of a column, none of which is negative.
std::vector<double> numbers_of(const Table& table, std::string_view name) {
  constexpr double most = 1e18;
  std::vector<double> numbers;
  for (const std::string_view cell : table.cells(table.column(name, "path"))) {
    double number = 0;
    if (!parse_number(cell, number) || !(0 <= number && number <= most))
      throw TraceError("path",
                       table.file.string() + ":" + std::to_string(table.lines[numbers.size()]) +
                           ": " + std::string(name) + " is " + shown(cell),
                       "numbers from 0 to " + number_text(most));
    numbers.push_back(number);
  }
  return numbers;
}

void read_layers(const fs::path& file, Layers& layers) {
  const Table table = read_table(file);
  table.column("layer", "path");
  const auto flop = numbers_of(table, "flop"), parameters = numbers_of(table, "parameter_bytes"),
             activations = numbers_of(table, "activation_bytes");
  double work = 0, bytes = 0;
  for (std::size_t i = 0; i < flop.size(); ++i) {
    layers.layers.push_back({flop[i], parameters[i], activations[i]});
    work += flop[i];
    bytes += parameters[i];
  }
  for (const auto& [name, sum] : {std::pair{"flop", work}, {"parameter_bytes", bytes}})
    if (sum == 0)
      throw TraceError("path", file.string() + ": " + name + " is 0 in every row",
                       "a layer with some");
  layers.hash = table.hash;
}

fs::path installed() { return home() / "scenarios" / "layers"; }

bool is_name(const Location& location) {
  return location.name.find_first_of("/.") == std::string::npos;
}

/// That of the scenario, or one of those that are installed.
fs::path table_file(const Location& location) {
  if (!location.found.empty()) return location.found;
  const fs::path own = installed() / (location.name + ".csv");
  return is_name(location) && fs::is_regular_file(own) ? own : fs::path();
}

std::string names_of_tables() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(installed()))
    if (entry.path().extension() == ".csv") names.push_back(entry.path().stem());
  std::ranges::sort(names);
  return joined(names);
}

/// How learners share them.
void visit_division(Fields& fields, Layers& layers) {
  std::string parallelism = "data";
  constexpr std::string_view ways[] = {"data", "model", "hybrid"};
  std::optional<std::uint64_t> minibatch;
  fields.choice("parallelism", parallelism, ways, Need::defaulted,
                "data: every learner has all layers; model: each has P-th parts of all; hybrid: a "
                "layer is divided inside each of G groups, G with the fewest bytes of 2 "
                "activation_bytes minibatch P / G (0 if G = P) + 2 parameter_bytes G / P (0 if G = "
                "1)");
  fields.integer("minibatch", minibatch, between(1, 1e9),
                 "samples of a learner; needed where layers are divided");
  layers.parallelism = parallelism == "data"    ? Parallelism::data
                       : parallelism == "model" ? Parallelism::model
                                                : Parallelism::hybrid;
  const bool divides = layers.parallelism != Parallelism::data;
  if (minibatch) layers.minibatch = static_cast<std::uint32_t>(*minibatch);
  if (divides && !fields.has("minibatch"))
    fields.complain("minibatch", "is missing, and what goes into a layer is as large as that",
                    "samples of a learner, or parallelism: data");
  fields.idle("minibatch", !divides && minibatch.has_value(),
              "says nothing where every learner has all layers", "parallelism model or hybrid");
}

}  // namespace

void visit_layers(Fields& fields, std::shared_ptr<const Layers>& read, double& model_bytes,
                  std::string_view meaning, bool may_divide) {
  if (!fields.open("layers", Need::none, meaning)) return;
  Layers layers;
  Location location;
  fields.path(
      "path", location, Need::required,
      "a table of scenarios/layers by its name, as vgg-a, or a CSV file, a row a layer from "
      "the first on, with the columns layer, flop (of a sample's forward pass), "
      "parameter_bytes and activation_bytes (of what it takes in of a sample)");
  if (may_divide) visit_division(fields, layers);
  fields.flag("weights_first", layers.weights_first, Need::defaulted,
              "the gradient of a layer's weights, half of its backward pass, is computed before "
              "what the layer below needs, so that its exchange begins earlier");
  if (fields.good()) {
    try {
      if (const fs::path file = table_file(location); !file.empty())
        read_layers(file, layers);
      else if (is_name(location))
        fields.complain(
            "path",
            "is no table of scenarios/layers, got " + shown(std::string_view(location.name)),
            names_of_tables() + ", or the path of a CSV file");
      else
        fields.lacks("path", {"file", location.name, location.looked_at});
    } catch (const TraceError& error) {
      fields.complain(error.key, error.what(), error.allowed);
    }
  }
  if (fields.good()) read = std::make_shared<const Layers>(std::move(layers));
  fields.close();
  if (!read) return;
  const double bytes = read->parameter_bytes();
  if (model_bytes == 0) model_bytes = bytes;
  if (model_bytes != bytes)
    fields.complain("model_bytes",
                    "is not the sum of the layers' parameter_bytes, " + number_text(bytes),
                    number_text(bytes) + ", or without it");
}

}  // namespace gradrace
