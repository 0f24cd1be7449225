#include <iostream>

#include "sim/cli/commands.h"
#include "sim/document.h"

namespace gradrace {

int validate_command(const std::vector<std::filesystem::path>& files,
                     const ScenarioChanges& changes) {
  std::vector<Problem> problems;
  for (const auto& file : files) {
    try {
      const Scenario scenario = read_scenario(file, changes);
      const std::size_t points = scenario.points.size(), replicas = scenario.first().replicas;
      std::cout << file.string() << ": fine: " << points << (points == 1 ? " point" : " points")
                << " x " << replicas << (replicas == 1 ? " replica\n" : " replicas\n");
    } catch (const ScenarioError& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  if (!problems.empty()) throw ScenarioError(problems);
  return 0;
}

}  // namespace gradrace
