#include <iostream>

#include "sim/cli/commands/commands.h"
#include "sim/cli/results/theory_files.h"

namespace gradrace {

int theory_command(const std::filesystem::path& file, const ScenarioChanges& changes, bool curves) {
  const Scenario scenario = read_scenario(file, changes);
  if (curves) {
    std::cout << theory_csv.text(error_curve_rows(scenario));
    return 0;
  }
  std::vector<TheoryRow> rows;
  for (std::size_t i = 0; i < scenario.points.size(); ++i) rows.emplace_back(i, scenario.points[i]);
  std::cout << theory_table(scenario.swept_paths).text(rows);
  return 0;
}

}  // namespace gradrace
