#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/cli/commands/commands.h"
#include "sim/cli/scenario/compression.h"
#include "sim/cli/scenario/memory.h"
#include "sim/cli/standard_streams.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"
#include "sim/reading/document.h"

namespace gradrace {

namespace {

/// What a look into the data of a scenario found.
struct DataFaults {
  std::set<std::string> lacking, wrong;
};

/// Reads the data and makes each of the models of them.
DataFaults look_into_data(const Scenario& scenario) {
  DataFaults faults;
  std::map<std::string, ModelMemory> models;  // [device_text]
  std::set<std::string> places;
  for (const MissingPlace& place : scenario.shelf->missing()) {
    faults.lacking.insert(place.name + " is not there (" + place.places() + ")");
    places.insert(place.text());
  }
  const MemoryCheck check(scenario, 1);
  for (const Point& point : scenario.points) {
    try {
      const auto [model, is_new] = models.try_emplace(point.device_text);
      if (is_new) check.check_data(point);
      if (is_new && point.with_model()) model->second = memory_of_model(point);
      check.check_runs(point, point.race(), model->second);
      check_sent(scenario, point);
    } catch (const ScenarioError&) {
      throw;
    } catch (const MissingData& error) {
      if (!places.contains(error.what())) faults.wrong.insert(error.what());  // a file of a folder
    } catch (const std::runtime_error& error) {
      faults.wrong.insert(error.what());
    }
  }
  return faults;
}

/// Those of its data.
std::vector<Problem> problems_of(const DataFaults& faults, const std::filesystem::path& file) {
  std::vector<Problem> problems;
  for (const auto& what : faults.wrong)
    problems.push_back(Document::problem_in(file, "model", what));
  return problems;
}

bool has_quick_form(const std::filesystem::path& file) {
  if (!std::filesystem::is_regular_file(file)) return false;
  try {
    const Document document = Document::read(file);
    return document.root().is_object() && document.root().contains("quick");
  } catch (const ScenarioError&) {
    return false;
  }
}

/// Those that its quick form has, without the changes of the command line, which may be of keys
/// that it sets.
std::vector<Problem> problems_of_quick_form(const std::filesystem::path& file,
                                            ScenarioChanges changes) {
  if (changes.quick || !has_quick_form(file)) return {};
  changes.quick = true;
  changes.sets.clear();
  try {
    return problems_of(look_into_data(read_scenario(file, changes)), file);
  } catch (const ScenarioError& error) {
    std::vector<Problem> problems = error.problems();
    std::erase_if(problems, [](const Problem& problem) { return problem.of_missing_file; });
    return problems;
  }
}

/// Its problems, or those of its quick form; says that it is fine where it has none.
std::vector<Problem> problems_of(const std::filesystem::path& file,
                                 const ScenarioChanges& changes) {
  const Scenario scenario = read_scenario(file, changes);
  const DataFaults faults = look_into_data(scenario);
  if (!faults.wrong.empty()) return problems_of(faults, file);
  std::ranges::for_each(scenario.shelf->notes(), tell_note);
  std::ranges::for_each(scenario.trace_notes(), tell_note);
  if (auto of_quick_form = problems_of_quick_form(file, changes); !of_quick_form.empty())
    return of_quick_form;
  std::string but;
  for (const auto& what : faults.lacking) but += (but.empty() ? ", but " : "; ") + what;
  std::cout << printable(file.string() + ": fine" + but) << ": "
            << count_text(scenario.points.size(), "point") << " x "
            << count_text(scenario.replicas(), "replica") << '\n';
  return {};
}

/// Whether all that is wrong is that files are not there without which the rest cannot be checked,
/// such as traces of runtimes; tells them.
bool only_files_lack(const ScenarioError& error) {
  const auto& problems = error.problems();
  if (!std::ranges::all_of(problems, &Problem::of_missing_file)) return false;
  for (const Problem& problem : problems) {
    std::cout << printable(problem.origin +
                           ": fine but for data, which were not looked at, since " + problem.path +
                           ": " + problem.what)
              << '\n';
  }
  return true;
}

}  // namespace

static int validate(const Words& words) {
  Syntax syntax{.positional = "file"};
  add_scenario_options(syntax);
  const auto call = parse(validate_command, words, syntax);
  if (!call) return 0;
  ScenarioChanges changes = changes_of(*call);
  changes.data_may_lack = true;
  changes.python = PythonUse::look_at;
  std::vector<Problem> problems;
  std::set<std::string> told;
  const auto add = [&](const std::vector<Problem>& more) {
    for (const Problem& problem : more)
      if (told.insert(problem.text()).second) problems.push_back(problem);
  };
  for (const auto& file : call->paths("file")) {
    try {
      add(problems_of(file, changes));
    } catch (const ScenarioError& error) {
      if (only_files_lack(error)) continue;
      add(error.problems());
      add(problems_of_quick_form(file, changes));
    } catch (const SchemaOfScenarios& error) {
      std::cout << printable(error.what()) << '\n';
    }
  }
  if (!problems.empty()) throw ScenarioError(problems);
  return 0;
}

extern const Command validate_command{
    "validate", "checks scenario files and their data, runs nothing",
    "  gradrace validate FILE... [options]\n\n"
    "Data sets are read: their files, labels and shapes must be what the model takes.  Data of\n"
    "which nothing is there are told, and are no mistake of the scenario: exit status 0.\n\n"
    "Examples:\n"
    "  gradrace validate quickstart\n"
    "  gradrace validate scenarios/papers/ho2013/*.json\n",
    validate};

}  // namespace gradrace
