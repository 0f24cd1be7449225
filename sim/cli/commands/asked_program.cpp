#include "sim/cli/commands/asked_program.h"

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "models/gpu/cuda/cuda_device.h"
#include "sim/cli/output/disk.h"
#include "sim/cli/output/output_folder.h"
#include "sim/cli/python.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/results/run_folder.h"
#include "sim/cli/results/table.h"
#include "sim/cli/scenario/auto_device.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

/// Options of gradrace run that make the same changes.
Words words_of_run(const ScenarioChanges& changes) {
  Words words;
  if (changes.quick) words.emplace_back("--quick");
  if (changes.allow_python) words.emplace_back("--allow-python");
  if (!changes.data_folder.empty()) words.push_back("--data=" + changes.data_folder.string());
  for (const auto& set : changes.sets) words.push_back("--set=" + set.path + "=" + set.value);
  return words;
}

Words options_of_run(const AskedCall& call) {
  Words words{"--quiet"};  // no table
  if (!call.quiet) words.emplace_back("--progress=text");
  if (call.jobs > 0) words.push_back("--jobs=" + std::to_string(call.jobs));
  if (call.force) words.emplace_back("--force");
  return words;
}

}  // namespace

void add_asked_options(Syntax& syntax, const std::string& command) {
  syntax.options.add_options()                                          //
      ("out", po::value<std::string>()->value_name("DIR"),              //
       ("output folder (default out/" + command + "-<name>)").c_str())  //
      ("jobs", po::value<std::string>()->value_name("N"),
       "threads (default: cores; CUDA runs/64)")              //
      ("force", "run all again, results that are there too")  //
      ("quiet", "no progress, no table");
  add_change_options(syntax);
}

AskedCall asked_call(const Arguments& call) {
  return {.file = call.scenario_file(),
          .changes = changes_of(call),
          .out = call.path("out"),
          .jobs = call.jobs(),
          .force = call.has("force"),
          .quiet = call.has("quiet")};
}

ScenarioChanges with_one_device(const AskedCall& call, std::size_t runs) {
  ScenarioChanges changes = call.changes;
  changes.sets.push_back({"replicas", std::to_string(runs), "replicas"});
  Scenario scenario = read_scenario(call.file, changes);
  settle_device(scenario, no_cuda_device);
  changes.sets.back() = {"device", device_of(scenario), "device"};
  return scenario.device_reason.empty() ? call.changes : changes;
}

Json asked_of(const AskedCall& call, const Scenario& scenario) {
  return {{"program", fs::read_symlink("/proc/self/exe").string()},
          {"file", call.file.string()},
          {"changes", words_of_run(call.changes)},
          {"options", options_of_run(call)},
          {"out", call.out.string()},
          {"scenario", Json::parse(scenario.resolved)},
          {"title", named_title(scenario.first())}};
}

int publish_answer(const AskedProgram& program, const AskedCall& call, const Scenario& scenario,
                   const Json& asked) {
  note_if_mixed(call.out);
  const bool goes_on = PublishedFiles(call.out).record() == program.record;
  OutputFolder folder(
      call.out, {.record = program.record, .names = {program.files.begin(), program.files.end()}},
      call.force || goes_on);
  refuse_runs(call.out);
  const auto place_of = [&](const std::string& name) {
    return folder.aside() / (name + std::string(temporary_ending));
  };
  std::ofstream(place_of("asked")) << asked;
  const int status = run_python(program.script, {folder.aside()}, OnSignal::hand_on);
  if (!fs::exists(place_of(program.record))) return status;
  for (const std::string& file : program.files)
    if (fs::exists(place_of(file))) folder.append(file, text_of_file(place_of(file)));
  Json record{{"scenario", Json::parse(scenario.resolved)},
              {"file", fs::absolute(scenario.file).string()},
              {"program", version_text()}};
  record.update(Json::parse(text_of_file(place_of(program.record))));
  record["files"] = folder.finish();
  folder.append(program.record, record.dump(2) + "\n");
  folder.publish();
  if (!call.report) return status;
  if (!call.quiet) std::cout << text_of_file(place_of("report"));
  std::cout << "results: " << printable((call.out / "").string()) << '\n' << std::flush;
  return status;
}

}  // namespace gradrace
