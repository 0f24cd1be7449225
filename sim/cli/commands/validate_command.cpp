#include <iostream>

#include "sim/cli/commands/commands.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"
#include "sim/reading/document.h"

namespace gradrace {

int validate_command(const std::vector<std::filesystem::path>& files,
                     const ScenarioChanges& changes) {
  std::vector<Problem> problems;
  for (const auto& file : files) {
    try {
      const Scenario scenario = read_scenario(file, changes);
      std::cout << printable(file.string())
                << ": fine: " << count_text(scenario.points.size(), "point") << " x "
                << count_text(scenario.first().replicas, "replica") << '\n';
    } catch (const ScenarioError& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  if (!problems.empty()) throw ScenarioError(problems);
  return 0;
}

}  // namespace gradrace
