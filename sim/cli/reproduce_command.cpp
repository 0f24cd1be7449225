#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "sim/cli/commands.h"
#include "sim/cli/count_text.h"
#include "sim/cli/output_folder.h"
#include "sim/cli/python.h"
#include "sim/cli/usage_error.h"

namespace gradrace {

namespace {

namespace fs = std::filesystem;

fs::path papers_folder() { return home() / "scenarios" / "papers"; }

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries{fs::directory_iterator(folder), fs::directory_iterator()};
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::vector<std::string> papers_of(const std::vector<std::string>& words) {
  std::vector<std::string> known;
  for (const auto& folder : sorted_entries(papers_folder())) known.push_back(folder.filename());
  if (words == std::vector<std::string>{"all"}) return known;
  for (const auto& word : words) {
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    std::string message = "reproduce: there is no paper \"" + word + "\"; allowed: all";
    for (const auto& paper : known) message += ", " + paper;
    throw UsageError(message);
  }
  return words;
}

/// What the scenario's data lack; empty when they are all there.
std::string missing_data(const fs::path& file, ScenarioChanges changes) {
  changes.data_may_lack = true;
  const Scenario scenario = read_scenario(file, changes);
  std::string missing;
  for (const auto& what : scenario.shelf->missing()) {
    missing += (missing.empty() ? "" : "; ") + what;
  }
  return missing;
}

void write_skipped(const fs::path& out, const nlohmann::ordered_json& skipped) {
  fs::create_directories(out);
  std::ofstream file(out / "skipped.json");
  if (!(file << skipped.dump(2) << std::endl)) {
    throw std::runtime_error((out / "skipped.json").string() + ": cannot be written");
  }
}

/// 130 when interrupted, 1 when a claim fails.
int reproduce(const std::string& paper, const fs::path& out, const ReproduceOptions& options) {
  nlohmann::ordered_json skipped = nlohmann::ordered_json::object();
  RunOptions run;
  run.changes = options.changes;
  run.jobs = options.jobs;
  run.force = options.force;
  run.quiet = options.quiet;
  run.table = false;
  for (const auto& file : sorted_entries(papers_folder() / paper)) {
    const std::string name = file.stem();
    const std::string missing = missing_data(file, options.changes);
    if (!missing.empty()) {
      std::cout << "skipped: " << name << ": " << missing << '\n';
      skipped[name] = missing;
      continue;
    }
    run.files = {file};
    run.out = out / name;
    if (const int status = run_command(run); status != 0) return status;
  }
  write_skipped(out, skipped);
  std::vector<std::string> words{paper, out.string()};
  if (options.changes.quick) words.push_back("--quick");
  return run_python("reproduce.py", std::move(words));
}

}  // namespace

int reproduce_command(const ReproduceOptions& options) {
  const auto papers = papers_of(options.papers);
  check_python();
  int worst = 0;
  for (const auto& paper : papers) {
    fs::path out = options.out.empty() ? fs::path("out") / paper : options.out;
    if (!options.out.empty() && papers.size() > 1) out /= paper;
    const int status = reproduce(paper, out, options);
    if (status == 130) return status;
    worst = std::max(worst, status);
  }
  return worst;
}

}  // namespace gradrace
