#include "sim/cli/results/pages.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "sim/cli/results/run_files.h"
#include "sim/cli/results/theory_files.h"

namespace gradrace {

namespace {

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

}  // namespace

std::vector<CsvPage> pages_of(const Scenario& scenario) {
  const bool by_learner = scenario.first().evaluated == EvaluatedValue::each;
  std::vector<CsvPage> pages{page_of_runs(scenario), curve_csv(by_learner).page(),
                             staleness_csv.page(), learners_csv.page(), theory_csv.page()};
  for (const Record* record : records())
    if (record->columns) pages.push_back(*record->columns);
  return pages;
}

}  // namespace gradrace
