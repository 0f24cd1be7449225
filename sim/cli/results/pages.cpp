#include "sim/cli/results/pages.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/cli/results/converted_tables.h"
#include "sim/cli/results/run_files.h"
#include "sim/cli/results/theory_files.h"

namespace gradrace {

namespace {

/// Of the values that points have of a swept path.
CellType type_of_swept(const Scenario& scenario, std::size_t path) {
  const auto are_all = [&](auto is) {
    return std::ranges::all_of(
        scenario.points, [&](const Point& point) { return (point.settings[path].value.*is)(); });
  };
  using Json = nlohmann::ordered_json;
  if (are_all(&Json::is_number_integer)) return CellType::integer;
  return are_all(&Json::is_number) ? CellType::number : CellType::text;
}

CsvPage page_of_runs(const Scenario& scenario) {
  const auto& paths = scenario.swept_paths;
  CsvPage page = runs_csv(paths, targets_of(scenario.first()), run_columns(scenario)).page();
  const auto swept = swept_names(paths);
  for (std::size_t i = 0; i < swept.size(); ++i)
    std::ranges::find(page.columns, swept[i], &Column::name)->type = type_of_swept(scenario, i);
  return page;
}

}  // namespace

std::vector<CsvPage> pages_of(const Scenario& scenario) {
  std::vector<CsvPage> pages{
      page_of_runs(scenario), curve_csv(scenario.first()).page(), staleness_csv.page(),
      learners_csv(scenario.first().learner_columns).page(), theory_csv.page()};
  for (const Record* record : records())
    if (record->columns) pages.push_back(*record->columns);
  return pages;
}

Files files_of_runs() {
  Files files{.record = manifest_record, .names = {}, .takes_unknown = true};
  for (const auto name :
       {curve_csv(CurveColumns()).name, staleness_csv.name, learners_csv({}).name, theory_csv.name})
    files.compressible.emplace(name);
  for (const Record* record : records()) files.compressible.emplace(record->file);
  files.names = files.compressible;
  files.names.insert("runs.csv");
  for (const auto& name : std::set(files.names))
    if (name.ends_with(".csv")) files.names.insert(parquet_name(name));
  files.names.insert(database);
  return files;
}

std::string parquet_name(const std::string& csv) {
  return std::filesystem::path(csv).replace_extension(".parquet");
}

}  // namespace gradrace
