#include "sim/cli/results/parquet.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/python.h"
#include "sim/cli/results/run_files.h"
#include "sim/cli/results/theory_files.h"

namespace gradrace {

namespace {

constexpr const char* script = "tables/parquet.py";

template <class Number>
bool is_all(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end;
}

/// Of the values that points have of a swept path.
CellType type_of_swept(const Scenario& scenario, std::size_t path) {
  bool integers = true, numbers = true, some = false;
  for (const Point& point : scenario.points) {
    const std::string& value = point.swept[path];
    if (value.empty()) continue;
    some = true;
    integers = integers && is_all<std::int64_t>(value);
    numbers = numbers && is_all<double>(value);
  }
  if (!some || !numbers) return CellType::text;
  return integers ? CellType::integer : CellType::number;
}

CsvPage page_of_runs(const Scenario& scenario) {
  const auto& paths = scenario.swept_paths;
  CsvPage page = runs_csv(paths, target_columns(scenario.first())).page();
  const auto swept = swept_names(paths);
  for (std::size_t i = 0; i < swept.size(); ++i)
    std::ranges::find(page.lines, swept[i], &CsvPage::Line::name)->type =
        type_of_swept(scenario, i);
  return page;
}

std::vector<CsvPage> pages_of(const Scenario& scenario) {
  const bool by_learner = scenario.first().evaluated == EvaluatedValue::each;
  std::vector<CsvPage> pages{page_of_runs(scenario), curve_csv(by_learner).page(),
                             staleness_csv.page(), learners_csv.page(), theory_csv.page()};
  for (const Record* record : records())
    if (record->columns) pages.push_back(*record->columns);
  return pages;
}

std::string types_text(const CsvPage& page) {
  constexpr const char* names[] = {"double", "int64", "string"};
  nlohmann::ordered_json types = nlohmann::ordered_json::object();
  for (const auto& line : page.lines) types[line.name] = names[static_cast<std::size_t>(line.type)];
  return types.dump();
}

}  // namespace

void check_parquet() {
  if (run_python(script, {}) != 0)
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
  if (run_python(script, words) != 0)
    throw std::runtime_error("the results could not be written as Parquet; they are as they were");
  for (const auto& name : tables) files.replace(name, parquet_name(name));
}

}  // namespace gradrace
