#include "sim/cli/results/parquet.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/cli/python.h"
#include "sim/cli/results/pages.h"

namespace gradrace {

namespace {

constexpr const char* converter = "tables/parquet.py";

std::string types_text(const CsvPage& page) {
  constexpr const char* names[] = {"double", "int64", "string"};
  nlohmann::ordered_json types = nlohmann::ordered_json::object();
  for (const Column& column : page.columns)
    types[column.name] = names[static_cast<std::size_t>(column.type)];
  return types.dump();
}

}  // namespace

void check_parquet() {
  if (run_python(converter, {}) != 0)
    throw std::runtime_error("Parquet cannot be written; ./setup.sh installs what that needs");
}

void turn_into_parquet(OutputFolder& files, const Scenario& scenario) {
  const auto& names = files.close();
  std::vector<std::string> tables, words;
  for (const CsvPage& page : pages_of(scenario)) {
    const std::string name(page.name);
    if (!names.contains(name)) continue;
    tables.push_back(name);
    words.push_back(files.aside() / name);
    words.push_back(types_text(page));
  }
  if (run_python(converter, words) != 0)
    throw std::runtime_error("the results could not be written as Parquet; they are as they were");
  for (const auto& name : tables) files.replace(name, parquet_name(name));
}

}  // namespace gradrace
