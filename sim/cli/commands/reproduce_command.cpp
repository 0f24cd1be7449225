#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <list>
#include <nlohmann/json.hpp>

#include "models/datasets/shelf.h"
#include "models/gpu/cuda/cuda_device.h"
#include "sim/cli/commands/commands.h"
#include "sim/cli/output/disk.h"
#include "sim/cli/output/locks.h"
#include "sim/cli/output/stamp.h"
#include "sim/cli/python.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/scenario/auto_device.h"
#include "sim/cli/usage_error.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"
#include "sim/reading/document.h"

namespace gradrace {

namespace po = boost::program_options;

namespace {

struct ReproduceOptions {
  std::vector<std::string> papers;  // folders of scenarios/papers, or "all"; none: lists them
  ScenarioChanges changes;
  std::string only;           // the scenario that is run; empty: all
  std::filesystem::path out;  // empty: out/<paper>; of several papers DIR/<paper>
  unsigned jobs = 0;          // 0: default_jobs()
  bool force = false, quiet = false;
};

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

enum class Fate { ran, kept, skipped, failed };

/// A scenario of a paper, and what becomes of it.
struct Experiment {
  std::string name;  // of its file, and of its output folder
  fs::path file;
  ScenarioChanges changes;
  bool is_search = false;  // for the switch point, in place of a run
  Fate fate = Fate::ran;
  std::string reason = {};  // why it was skipped, how it failed
  double seconds = 0;
};

struct Paper {
  std::string name;
  fs::path out;
  std::vector<Experiment> experiments;
};

fs::path papers_folder() { return home() / "scenarios" / "papers"; }

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  if (!fs::is_directory(folder)) return {};
  std::vector<fs::path> entries{fs::directory_iterator(folder), fs::directory_iterator()};
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::vector<std::string> known_papers() {
  std::vector<std::string> known;
  for (const auto& folder : sorted_entries(papers_folder())) known.push_back(folder.filename());
  return known;
}

/// What draws a paper's figures; throws UsageError where it is not there.
void check_package(const std::string& paper) {
  const fs::path package = home() / "analysis" / "papers" / paper;
  if (fs::exists(package / "__init__.py") || fs::exists(package.string() + ".py")) return;
  throw UsageError("reproduce: " + paper + ": there is no package " + package.string());
}

std::vector<std::string> papers_of(const std::vector<std::string>& words) {
  const std::vector<std::string> known = known_papers();
  for (const auto& word : words) {
    if (word == "all") continue;
    if (std::find(known.begin(), known.end(), word) != known.end()) {
      check_package(word);
      continue;
    }
    std::string message = "reproduce: there is no paper \"" + word + "\"; allowed: all";
    for (const auto& paper : known) message += ", " + paper;
    throw UsageError(message);
  }
  if (std::ranges::find(words, "all") != words.end()) return known;
  std::vector<std::string> once;
  for (const auto& word : words)
    if (std::ranges::find(once, word) == once.end()) once.push_back(word);
  return once;
}

/// What the scenario's data lack; empty when they are all there.
std::string missing_data(const Scenario& scenario) {
  return joined(scenario.shelf->missing(), "; ", &MissingPlace::text);
}

bool is_wanted(const std::string& name, const ReproduceOptions& options) {
  return options.only.empty() || name == options.only || fs::path(name).stem() == options.only;
}

/// Whether the command line wants the device.
bool takes_gpu(const ScenarioChanges& changes) {
  return std::ranges::any_of(changes.sets, [](const ScenarioChanges::Set& set) {
    return set.path == "device" && set.value == "cuda";
  });
}

/// Of the first point that trains and has one.
std::string why_only_cpu(const Scenario& scenario) {
  for (const Point& point : scenario.points)
    if (const std::string why = point.with_model() ? only_cpu(point) : ""; !why.empty()) return why;
  return {};
}

/// Why the scenario is not run; empty: it is.
std::string obstacle(const Experiment& experiment, const Scenario& scenario,
                     const ReproduceOptions& options) {
  if (!is_wanted(experiment.name, options)) return "left out: --only " + options.only;
  if (!experiment.name.starts_with("gpu/")) return missing_data(scenario);
  if (!takes_gpu(options.changes)) return "takes a GPU: --device cuda";
  const std::string why = why_only_cpu(scenario);
  return why.empty() ? missing_data(scenario) : why;
}

/// Throws UsageError where results of something else are in the way.
void plan(Experiment& experiment, const fs::path& out, const ReproduceOptions& options) {
  ScenarioChanges changes = experiment.changes;
  changes.data_may_lack = true;
  Scenario scenario = read_scenario(experiment.file, changes);
  const bool is_for_gpu = experiment.name.starts_with("gpu/");
  if (const std::string why = why_only_cpu(scenario);
      !why.empty() && !is_for_gpu && takes_gpu(changes)) {
    std::cout << "on the CPU: " << experiment.name << ": " << why << '\n';
    std::erase_if(experiment.changes.sets, [](const auto& set) { return set.path == "device"; });
    return plan(experiment, out, options);
  }
  experiment.reason = obstacle(experiment, scenario, options);
  const bool is_run = experiment.reason.empty();
  experiment.fate = is_run ? Fate::ran : Fate::skipped;
  if ((is_run && options.force) || !missing_data(scenario).empty()) return;
  settle_device(scenario, no_cuda_device);
  if (is_run) refuse_other_runs(out, scenario);
  if (is_published(out, scenario)) experiment.fate = Fate::kept;
}

Experiment planned(const std::string& name, const fs::path& file, const fs::path& out,
                   const ReproduceOptions& options) {
  Experiment experiment{.name = name, .file = file, .changes = options.changes};
  if (name.starts_with("gpu/") && !takes_gpu(options.changes))
    experiment.changes.sets.push_back({"device", "cuda", file.string()});
  try {
    plan(experiment, out / name, options);
  } catch (const MissingData& error) {
    experiment.fate = Fate::skipped;
    experiment.reason = error.what();
  } catch (const ScenarioError& error) {
    for (const Problem& problem : error.problems())
      if (problem.origin.starts_with("--")) throw;  // the command line's, not the scenario's
    experiment.fate = Fate::failed;
    experiment.reason = error.what();
  }
  return experiment;
}

/// Throws UsageError where the folder is none, or is that of a run.
void check_out(const fs::path& out) {
  if (fs::exists(out) && !fs::is_directory(out))
    throw UsageError("--out: " + out.string() + ": is a file, not a folder");
  if (fs::exists(out / "manifest.json"))
    throw UsageError("--out: " + out.string() +
                     ": holds the results of a run; name another folder");
}

[[noreturn]] void refuse(const fs::path& file) {
  throw UsageError("--out: " + file.string() +
                   ": is not as reproduce writes it, so it is somebody else's or was changed "
                   "since; move it away, or name another folder");
}

/// Throws UsageError where a page of the user's is there.
void refuse_other_page(const fs::path& page) {
  if (fs::exists(page) && !is_stamped(page)) refuse(page);
}

/// Throws UsageError where a file of the user's has the name of one that is to be written.
void refuse_others(const fs::path& out) {
  refuse_other_page(out / "index.html");
  constexpr std::pair<const char*, std::string_view> beginnings[] = {
      {"claims.csv", "id,source,claim,"}, {"skipped.json", "{"}};
  for (const auto& [name, begin] : beginnings) {
    std::ifstream file = opened_file(out / name);
    std::string line;
    std::getline(file, line);
    if (fs::exists(out / name) && !line.starts_with(begin)) refuse(out / name);
  }
}

Paper planned(const std::string& name, const fs::path& out, const ReproduceOptions& options) {
  Paper paper{name, out, {}};
  const auto add = [&](const char* folder, auto experiment_of) {
    for (const auto& file : sorted_entries(papers_folder() / name / folder))
      if (file.extension() == ".json")
        paper.experiments.push_back(experiment_of(folder + file.stem().string(), file));
  };
  const auto run = [&](const std::string& of, const fs::path& file) {
    return planned(of, file, out, options);
  };
  const auto search = [&](const std::string& of, const fs::path& file) {
    Experiment experiment{.name = of, .file = file, .changes = options.changes, .is_search = true};
    if (is_wanted(of, options)) return experiment;
    experiment.fate = fs::exists(out / of / search_record) ? Fate::kept : Fate::skipped;
    experiment.reason = "left out: --only " + options.only;
    return experiment;
  };
  add("", run);
  add("search/", search);
  add("gpu/", run);
  return paper;
}

/// Throws UsageError where no scenario has the name that is wanted alone.
void check_only(const std::vector<Paper>& papers, const ReproduceOptions& options) {
  std::string names;
  for (const Paper& paper : papers) {
    for (const Experiment& experiment : paper.experiments) {
      if (is_wanted(experiment.name, options)) return;
      names += (names.empty() ? "" : ", ") + experiment.name;
    }
  }
  throw UsageError("reproduce: there is no scenario \"" + options.only +
                   "\" there; allowed: " + names);
}

int run_scenario(const Experiment& experiment, const fs::path& out,
                 const ReproduceOptions& options) {
  return run_scenarios(
      {.files = {experiment.file},
       .changes = experiment.changes,
       .out = out,
       .jobs = options.jobs,
       .begin = options.force ? RunFolder::Begin::anew : RunFolder::Begin::new_or_go_on,
       .quiet = options.quiet,
       .progress = options.quiet ? Progress::Style::none : Progress::Style::text,
       .report = false});
}

/// With the table of the file's own name beside it, where there is one.
int search_scenario(const Experiment& experiment, const fs::path& out,
                    const ReproduceOptions& options) {
  const fs::path table = fs::path(experiment.file).replace_extension(".csv");
  const bool tabled = fs::exists(table);
  return search_switch_point({.call = {.file = experiment.file,
                                       .changes = experiment.changes,
                                       .out = out,
                                       .jobs = options.jobs,
                                       .force = options.force,
                                       .quiet = options.quiet,
                                       .report = false},
                              .settings = tabled ? 0u : SearchOptions().settings,
                              .accuracies = tabled ? table : fs::path()});
}

/// False when interrupted.
bool run(Experiment& experiment, const fs::path& out, const ReproduceOptions& options) {
  const auto begin = Clock::now();
  const auto command = experiment.is_search ? search_scenario : run_scenario;
  try {
    const int status = command(experiment, out / experiment.name, options);
    if (status == 130) return false;
    if (status != 0) throw std::runtime_error("some of its runs failed");
  } catch (const MissingData& error) {
    experiment.fate = Fate::skipped;
    experiment.reason = error.what();
  } catch (const std::exception& error) {
    experiment.fate = Fate::failed;
    experiment.reason = error.what();
  }
  experiment.seconds = seconds_since(begin);
  return true;
}

/// {scenario: reason} of what has no results; the analysis reads it.
void write_skipped(const Paper& paper) {
  nlohmann::ordered_json skipped = nlohmann::ordered_json::object();
  for (const Experiment& one : paper.experiments) {
    if (one.fate == Fate::skipped) skipped[one.name] = one.reason;
    if (one.fate == Fate::failed) skipped[one.name] = "its run failed: " + one.reason;
  }
  fs::create_directories(paper.out);
  put_in_place(skipped.dump(2) + "\n", paper.out / ".unfinished" / "skipped.json",
               paper.out / "skipped.json");
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%8.1f s", seconds);
  return text;
}

std::string time_text(const Experiment& experiment) {
  constexpr const char* fates[] = {"", "      kept", "   skipped", "    failed"};
  if (experiment.fate == Fate::ran) return seconds_text(experiment.seconds);
  return fates[static_cast<std::size_t>(experiment.fate)];
}

/// A line for each scenario: the time it took, or what became of it.
void print_times(const std::vector<Paper>& papers, double seconds) {
  std::cout << "\nTimes\n";
  for (const auto& paper : papers) {
    for (const auto& experiment : paper.experiments) {
      std::cout << time_text(experiment) << "  " << paper.name << ' ' << experiment.name << '\n';
    }
  }
  std::cout << seconds_text(seconds) << "  in all\n";
}

/// Runs what is to be run; 130 when interrupted, 1 when something fails.
int reproduce(Paper& paper, const ReproduceOptions& options) {
  bool failed = false;
  for (auto& experiment : paper.experiments) {
    if (experiment.fate == Fate::ran && !run(experiment, paper.out, options)) return 130;
    const bool is_failed = experiment.fate == Fate::failed;
    if (is_failed || experiment.fate == Fate::skipped) {
      (is_failed ? std::cerr : std::cout)
          << (is_failed ? "failed: " : "skipped: ") << experiment.name << ": "
          << printable(experiment.reason) << '\n';
    }
    failed |= is_failed;
  }
  write_skipped(paper);
  std::vector<std::string> words{"--", paper.name, paper.out.string()};
  if (options.changes.quick) words.insert(words.begin(), "--quick");
  const int status = run_python("reproduce/reproduce.py", std::move(words));
  return failed ? 1 : status;
}

int print_papers() {
  std::vector<std::string> words = known_papers();
  for (const auto& paper : words) check_package(paper);
  words.insert(words.begin(), "--list");
  const int status = run_python("reproduce/reproduce.py", std::move(words));
  std::cout << "\nall: every one of them; gradrace reproduce --help says more\n";
  return status;
}

}  // namespace

static int reproduce_papers(const ReproduceOptions& options) {
  if (options.papers.empty()) return print_papers();
  const auto names = papers_of(options.papers);
  check_python();
  const auto begin = Clock::now();
  const bool is_one = names.size() == 1 && options.papers != std::vector<std::string>{"all"};
  const bool is_usual = options.out.empty();
  const fs::path out = is_usual ? fs::path("out") : options.out;
  const std::string form = is_usual && options.changes.quick ? "-quick" : "";
  check_out(out);
  const fs::path overview = out / (is_usual ? "papers" + form + ".html" : "index.html");
  if (!is_one) refuse_other_page(overview);
  std::vector<Paper> papers;
  std::list<FolderLock> locks;
  for (const auto& name : names) {
    const fs::path folder = is_one && !is_usual ? out : out / (name + form);
    refuse_others(folder);
    locks.emplace_back(folder);
    papers.push_back(planned(name, folder, options));
  }
  check_only(papers, options);
  int worst = 0;
  for (auto& paper : papers) {
    const int status = reproduce(paper, options);
    if (status == 130) {
      std::cerr << "the same call goes on: it keeps the scenarios that are whole\n";
      return status;
    }
    worst = std::max(worst, status);
  }
  if (!is_one) {
    std::vector<std::string> words{"--index", "--", overview.string()};
    for (const auto& paper : papers) words.push_back(paper.out.filename());
    worst = std::max(worst, run_python("reproduce/reproduce.py", std::move(words)));
  }
  print_times(papers, seconds_since(begin));
  return worst;
}

static int reproduce(const Words& words) {
  Syntax syntax{.positional = "paper"};
  syntax.options.add_options()                                                                    //
      ("out", po::value<std::string>()->value_name("DIR"),                                        //
       "output folder (default out/<paper>, with --quick out/<paper>-quick; with "                //
       "several papers DIR/<paper>)")                                                             //
      ("data", po::value<std::string>()->value_name("DIR"),                                       //
       "where data sets are looked for (else GRADRACE_DATA); figures that lack theirs are left "  //
       "out, and said so")                                                                        //
      ("quick", "fewer replicas and shorter runs: at most minutes")                               //
      ("replicas", po::value<std::string>()->value_name("N"),                                     //
       "of every scenario that is run, in place of its own")                                      //
      ("device", po::value<std::string>()->value_name("auto|cpu|cuda"),                           //
       "of every scenario; cuda runs those of a paper's folder gpu/ too")                         //
      ("only", po::value<std::string>()->value_name("NAME"),                                      //
       "run this scenario alone; others keep the results that are there")                         //
      ("jobs", po::value<std::string>()->value_name("N"),
       "threads (default: cores; CUDA runs/64)")              //
      ("force", "run all again, results that are there too")  //
      ("quiet", "no progress");
  const auto call = parse(reproduce_command, words, syntax);
  if (!call) return 0;
  return reproduce_papers({.papers = call->words("paper"),
                           .changes = changes_of(*call),
                           .only = call->text("only"),
                           .out = call->path("out"),
                           .jobs = call->jobs(),
                           .force = call->has("force"),
                           .quiet = call->has("quiet")});
}

extern const Command reproduce_command{
    "reproduce", "runs a paper's experiments, draws its figures, judges its claims",
    "  gradrace reproduce [PAPER...|all] [options]\n\n"
    "Writes index.html (one file: figures, claims, how they were made), claims.csv, the figures\n"
    "as PNG and a folder of results for each scenario.  Without a paper it lists them.\n\n"
    "What lacks its data or a GPU is left out, and said so; what fails is listed, and the others\n"
    "go on.  After an interruption the same call goes on: results that are whole are kept, if\n"
    "scenario, form, seed and program are the same; other results are only overwritten with\n"
    "--force.  Data files that were exchanged in their place go unnoticed.\n\n"
    "Examples:\n"
    "  gradrace reproduce                           the papers\n"
    "  gradrace reproduce dutta2018 --quick         minutes\n"
    "  gradrace reproduce all --data ~/data         everything, and a page that links the "
    "papers'\n"
    "  gradrace reproduce dutta2018 --out out/mine --jobs 1\n"
    "  gradrace reproduce pan2017 --device cuda --only fig2_how_stale_is_too_stale --replicas 2\n\n"
    "Exit status: 0 every claim holds, is skipped or is known to fail; 1 another claim or a run\n"
    "fails; 2 bad usage; 130 interrupted.  What is known to fail stands, with the reason, in\n"
    "analysis/papers/PAPER/known_failures.csv; a claim listed there that holds is only named.\n"
    "A claim is paper-inconsistent where numbers of the paper itself disagree.\n",
    reproduce};

}  // namespace gradrace
