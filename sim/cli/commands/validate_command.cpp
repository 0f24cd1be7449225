#include <iostream>

#include "sim/cli/commands/commands.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"
#include "sim/reading/document.h"

namespace gradrace {

static int validate(const Words& words) {
  Syntax syntax{.positional = "file"};
  add_scenario_options(syntax);
  const auto values = parse(validate_command, words, syntax);
  if (!values) return 0;
  const auto changes = changes_of("validate", *values);
  std::vector<Problem> problems;
  for (const auto& file : paths_of("validate", *values, "file")) {
    try {
      const Scenario scenario = read_scenario(file, changes);
      std::cout << printable(file.string())
                << ": fine: " << count_text(scenario.points.size(), "point") << " x "
                << count_text(scenario.replicas(), "replica") << '\n';
    } catch (const ScenarioError& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  if (!problems.empty()) throw ScenarioError(problems);
  return 0;
}

extern const Command validate_command{"validate", "checks scenario files, runs nothing",
                                      "  gradrace validate FILE... [options]\n\n"
                                      "Examples:\n"
                                      "  gradrace validate scenarios/quickstart.json\n"
                                      "  gradrace validate scenarios/papers/ho2013/*.json\n",
                                      validate};

}  // namespace gradrace
