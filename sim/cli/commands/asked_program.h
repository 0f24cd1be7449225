#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/cli/command_line.h"

namespace gradrace {

/// A program of analysis that answers a question by runs of its own, and what it writes.
struct AskedProgram {
  const char* script;              // "search/search.py"
  std::string record;              // "search.json"
  std::vector<std::string> files;  // that it may write beside the record
};

/// How such a program is called.
struct AskedCall {
  std::filesystem::path file;  // the scenario's
  ScenarioChanges changes;
  std::filesystem::path out;  // empty: out/<command>-<name>
  unsigned jobs = 0;          // 0: default_jobs()
  bool force = false, quiet = false;
  bool report = true;  // print the answer
};

/// The options of such a call but for its own, and what they say.
void add_asked_options(Syntax& syntax, const std::string& command);
AskedCall asked_call(const Arguments& call);

/// The device that is chosen for so many runs of the scenario is that of all its runs.
ScenarioChanges with_one_device(const AskedCall& call, std::size_t runs);

/// What every such program is told: how it calls gradrace run, and of what.
nlohmann::ordered_json asked_of(const AskedCall& call, const Scenario& scenario);

/// Has the program answer what it is asked, and publishes what it finds beside the folders of its
/// runs; its exit status, which is 0 where there is an answer.
int publish_answer(const AskedProgram& program, const AskedCall& call, const Scenario& scenario,
                   const nlohmann::ordered_json& asked);

}  // namespace gradrace
