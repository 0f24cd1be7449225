#include <boost/program_options.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "sim/cli/command_line.h"
#include "sim/cli/commands/commands.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/usage_error.h"
#include "sim/reading/characters.h"
#include "sim/reading/document.h"
#include "sim/reading/edit_distance.h"

namespace gradrace {

namespace {

namespace po = boost::program_options;

/// A command of the program: its line in the help, its usage with examples, and what it does with
/// its words.
struct Command {
  std::string_view name, summary, usage;
  int (*run)(const Words& words);
};

const Command& command_of(std::string_view name);

bool help_wanted(std::string_view command, const Values& values, const Syntax& syntax) {
  if (values.count("help") == 0) return false;
  const Command& entry = command_of(command);
  std::cout << "gradrace " << entry.name << ": " << entry.summary << "\n\n"
            << entry.usage << '\n'
            << syntax.options;
  return true;
}

int run(const Words& words) {
  Syntax syntax{.positional = "file"};
  add_scenario_options(syntax);
  syntax.options.add_options()                                                               //
      ("out", po::value<std::string>()->value_name("DIR"),                                   //
       "output folder (default out/<name>; with several files DIR/<name>)")                  //
      ("jobs", po::value<int>()->value_name("N"), "threads (default: cores; CUDA runs/64)")  //
      ("force", "overwrite results that are there")                                          //
      ("plot", "draw the plots afterwards")                                                  //
      ("quiet", "no progress, no table");
  const auto values = parse("run", words, syntax);
  if (help_wanted("run", values, syntax)) return 0;
  RunOptions options;
  options.files = paths_of("run", values, "file");
  options.changes = changes_of("run", values);
  options.out = path_of("run", values, "out");
  options.jobs = jobs_of("run", values);
  options.force = values.count("force") != 0;
  options.plot = values.count("plot") != 0;
  options.quiet = values.count("quiet") != 0;
  return run_command(options);
}

int reproduce(const Words& words) {
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
      ("device", po::value<std::string>()->value_name("D"),                                       //
       "of every scenario: auto, cpu or cuda")                                                    //
      ("jobs", po::value<int>()->value_name("N"), "threads (default: cores; CUDA runs/64)")       //
      ("force", "run all again, results that are there too")                                      //
      ("quiet", "no progress");
  const auto values = parse("reproduce", words, syntax);
  if (help_wanted("reproduce", values, syntax)) return 0;
  ReproduceOptions options;
  options.papers = words_of(values, "paper");
  options.changes = changes_of("reproduce", values);
  options.out = path_of("reproduce", values, "out");
  options.jobs = jobs_of("reproduce", values);
  options.force = values.count("force") != 0;
  options.quiet = values.count("quiet") != 0;
  return reproduce_command(options);
}

SearchRule search_rule_of(const Values& values) {
  SearchRule rule;
  if (values.count("beta") != 0) rule.beta = fraction_of("search", values, "beta");
  rule.settings = count_of("search", values, "settings", rule.settings);
  rule.runs = count_of("search", values, "runs", rule.runs);
  rule.first_runs = count_of("search", values, "first-runs", rule.first_runs);
  if (values.count("target") == 0) return rule;
  if (values.count("first-runs") != 0) {
    throw UsageError("search: --first-runs find the target, and --target gives it; take one");
  }
  rule.first_runs = 0;
  return rule;
}

int search(const Words& words) {
  Syntax syntax{.positional = "file"};
  syntax.options.add_options()                                                               //
      ("beta", po::value<double>()->value_name("X"),                                         //
       "accuracy that a setting may lack of the target (default 0.01)")                      //
      ("runs", po::value<int>()->value_name("R"), "runs of each setting (default 5)")        //
      ("first-runs", po::value<int>()->value_name("N"),                                      //
       "runs of the first protocol alone, whose mean accuracy is the target (default 5)")    //
      ("target", po::value<double>()->value_name("A"),                                       //
       "the target is known, of a job that recurs: no such runs")                            //
      ("settings", po::value<int>()->value_name("M"), "settings tried (default 5)")          //
      ("accuracies", po::value<std::string>()->value_name("FILE"),                           //
       "CSV file of runs made elsewhere, columns share and accuracy: nothing is trained")    //
      ("out", po::value<std::string>()->value_name("DIR"),                                   //
       "output folder (default out/search-<name>)")                                          //
      ("jobs", po::value<int>()->value_name("N"), "threads (default: cores; CUDA runs/64)")  //
      ("force", "run all again, results that are there too")                                 //
      ("quiet", "no progress, no table");
  add_change_options(syntax);
  const auto values = parse("search", words, syntax);
  if (help_wanted("search", values, syntax)) return 0;
  SearchOptions options;
  const auto files = paths_of("search", values, "file");
  if (files.size() != 1) throw UsageError("search: takes one scenario file");
  options.file = files.front();
  options.changes = changes_of("search", values);
  options.rule = search_rule_of(values);
  if (values.count("target") != 0) options.target = fraction_of("search", values, "target");
  options.accuracies = path_of("search", values, "accuracies");
  options.out = path_of("search", values, "out");
  options.jobs = jobs_of("search", values);
  options.force = values.count("force") != 0;
  options.quiet = values.count("quiet") != 0;
  return search_command(options);
}

int fit(const Words& words) {
  Syntax syntax{.positional = "trace"};
  syntax.options.add_options()                                                             //
      ("column", po::value<std::string>()->value_name("NAME"),                             //
       "column of the times (default: guessed, and said)")                                 //
      ("learner", po::value<std::string>()->value_name("NAME"),                            //
       "column that says whose time it is (default: guessed; '': all are one learner's)")  //
      ("out", po::value<std::string>()->value_name("DIR"),                                 //
       "output folder (default out/fit-<trace>)")                                          //
      ("force", "overwrite results that are there")                                        //
      ("plot", "draw the plots afterwards");
  const auto values = parse("fit", words, syntax);
  if (help_wanted("fit", values, syntax)) return 0;
  const auto traces = paths_of("fit", values, "trace");
  if (traces.size() != 1) throw UsageError("fit: takes one CSV file");
  FitOptions options;
  options.trace = traces.front();
  if (values.count("column") != 0) options.column = values["column"].as<std::string>();
  if (values.count("learner") != 0) options.learner = values["learner"].as<std::string>();
  options.out = path_of("fit", values, "out");
  options.force = values.count("force") != 0;
  options.plot = values.count("plot") != 0;
  return fit_command(options);
}

int theory(const Words& words) {
  Syntax syntax{.positional = "file"};
  add_scenario_options(syntax);
  syntax.options.add_options()(
      "curves",
      "the loss over simulated time in place of the table, where it is known (quadratic)");
  const auto values = parse("theory", words, syntax);
  if (help_wanted("theory", values, syntax)) return 0;
  const auto files = paths_of("theory", values, "file");
  if (files.size() != 1) throw UsageError("theory: takes one scenario file");
  return theory_command(files.front(), changes_of("theory", values), values.count("curves") != 0);
}

int validate(const Words& words) {
  Syntax syntax{.positional = "file"};
  add_scenario_options(syntax);
  const auto values = parse("validate", words, syntax);
  if (help_wanted("validate", values, syntax)) return 0;
  return validate_command(paths_of("validate", values, "file"), changes_of("validate", values));
}

int list(const Words& words) {
  Syntax syntax{.positional = "name"};
  const auto values = parse("list", words, syntax);
  if (help_wanted("list", values, syntax)) return 0;
  const Words names = words_of(values, "name");
  if (names.size() > 1) throw UsageError("list: takes at most one name");
  return list_command(names.empty() ? "" : names.front());
}

int schema(const Words& words) {
  Syntax syntax;
  const auto values = parse("schema", words, syntax);
  return help_wanted("schema", values, syntax) ? 0 : schema_command();
}

int signature(const Words& words) {
  Syntax syntax;
  const auto values = parse("signature", words, syntax);
  return help_wanted("signature", values, syntax) ? 0 : signature_command();
}

int plot(const Words& words) {
  Syntax syntax{.positional = "folder"};
  const auto values = parse("plot", words, syntax);
  if (help_wanted("plot", values, syntax)) return 0;
  return plot_command(paths_of("plot", values, "folder"));
}

constexpr Command commands[] = {
    {"run", "runs scenarios (sweep points x replicas) and writes an output folder for each",
     "  gradrace run FILE... [options]\n\n"
     "Examples:\n"
     "  gradrace run scenarios/quickstart.json --plot\n"
     "  gradrace run scenarios/quickstart.json --set cluster.learners=16 --replicas 10 --out "
     "out/p16\n"
     "  gradrace run scenarios/quickstart.json --timing-only --set 'stop={\"updates\": 100000}'\n",
     run},
    {"reproduce", "runs a paper's experiments, draws its figures, judges its claims",
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
     "  gradrace reproduce dutta2018 --out out/mine --jobs 1\n\n"
     "Exit status: 0 every claim holds or is skipped; 1 a claim or a run fails; 2 bad usage;\n"
     "130 interrupted\n",
     reproduce},
    {"search", "finds how early a job may switch from its first protocol to its second",
     "  gradrace search SCENARIO [options]\n\n"
     "The scenario's protocol has two phases (gradrace list switch), the first of which ends by\n"
     "work; its model has a test error, and stop counts gradients or epochs.  The search halves\n"
     "the share of the work under the first protocol: 50 %, then 25 % if the mean accuracy of R\n"
     "runs (1 - final test error) is within beta of the target, else 75 %, and so on, M times; a\n"
     "run that diverged fails its setting (Sync-Switch's timing policy, Li et al., ICDCS 2021).\n\n"
     "Prints the path, the switch point, what the search costs in trainings with the first\n"
     "protocol alone, after how many recurrences of the job it has paid, how surely such a search\n"
     "ends there, and all that for fewer runs.  Writes search.csv, costs.csv, search.json and a\n"
     "folder of results for each setting, whose replicas are the same R.  After an interruption\n"
     "the same call goes on: settings that are whole are kept, if scenario, runs and program are\n"
     "the same.\n\n"
     "With --accuracies the runs were made elsewhere: a row a run, of share 1 for the first\n"
     "protocol alone, without an accuracy where it diverged.  The scenario gives times alone, and\n"
     "the search ends where the table does.\n\n"
     "Examples:\n"
     "  gradrace search job.json                            how early may it switch?\n"
     "  gradrace search job.json --runs 3 --first-runs 3    a cheaper search, less sure\n"
     "  gradrace search job.json --target 0.919             a job that recurs: accuracy is known\n"
     "  gradrace search job.json --beta 0.002 --settings 4 --out out/strict\n"
     "  gradrace search job.json --accuracies runs.csv      of runs that were made elsewhere\n",
     search},
    {"fit", "fits runtime distributions to measured times, and says whether they persist",
     "  gradrace fit TRACE.csv [options]\n\n"
     "The file has a line of column names, then a row for each minibatch.  Prints every family\n"
     "ranked by AIC, whether learners differ for good or by turns, and a cluster to paste into a\n"
     "scenario.\n\n"
     "Examples:\n"
     "  gradrace fit scenarios/times.csv --plot\n"
     "  gradrace fit trace.csv --column seconds --learner rank --out out/trace\n",
     fit},
    {"theory", "prints what theory predicts for each point, as CSV",
     "  gradrace theory FILE [options]\n\n"
     "Each value has a basis beside it: exact, an upper or a lower bound, or approximate.  What\n"
     "is not known is empty.\n\n"
     "  theory_fresh         fraction of gradients that are of the current version\n"
     "  error_floor          loss that a long run at one learning rate settles at, exact\n"
     "  error_floor_bound    the same by Lemma 2 of Dutta et al., AISTATS 2018, an upper bound\n"
     "  stable_eta           largest stable learning rate, after its scale\n"
     "  ageing               of a minibatch's time: whether a new one takes longer than the rest\n"
     "                       of a used one (new-longer, new-shorter, memoryless, neither)\n\n"
     "With --curves a row is a whole number of updates: the mean time at which they are made, and\n"
     "the mean loss then, or its bound.\n\n"
     "Examples:\n"
     "  gradrace theory scenarios/quickstart.json --set cluster.learners=20\n"
     "  gradrace theory scenarios/error_theory.json --curves\n",
     theory},
    {"validate", "checks scenario files, runs nothing",
     "  gradrace validate FILE... [options]\n\n"
     "Example:\n"
     "  gradrace validate scenarios/*.json\n",
     validate},
    {"list", "what exists: protocols, distributions, models, learning rates ..., and their keys",
     "  gradrace list [protocols|distributions|persistence|models|datasets|learning-rates|\n"
     "                 policies|scenario|NAME]\n\n"
     "Examples:\n"
     "  gradrace list protocols\n"
     "  gradrace list k-async\n"
     "  gradrace list optimiser\n",
     list},
    {"schema", "prints the JSON Schema (draft 7) of scenario files",
     "  gradrace schema\n\n"
     "Example:\n"
     "  gradrace schema > scenarios/schema.json\n",
     schema},
    {"signature",
     "hashes of fixed schedules, integers only: equal on every machine that behaves the same",
     "  gradrace signature\n", signature},
    {"plot", "draws the plots of output folders, of runs or fits, into DIR/plots (PNG and SVG)",
     "  gradrace plot DIR...\n\n"
     "Example:\n"
     "  gradrace plot out/quickstart\n",
     plot},
};

const Command& command_of(std::string_view name) {
  for (const auto& command : commands) {
    if (command.name == name) return command;
  }
  std::string message = "there is no command \"" + std::string(name) + "\"; allowed:";
  std::vector<std::string_view> names;
  for (const auto& command : commands) {
    message += " " + std::string(command.name);
    names.push_back(command.name);
  }
  const std::string_view nearest = nearest_name(name, names);
  throw UsageError(message +
                   (nearest.empty() ? "" : "; did you mean \"" + std::string(nearest) + "\"?"));
}

void print_help() {
  std::cout << "gradrace races protocols of distributed SGD against each other in simulated "
               "wall-clock time.\n\n"
               "usage: gradrace COMMAND [options]; gradrace COMMAND --help says more\n\n";
  for (const auto& command : commands) {
    std::cout << "  " << command.name << std::string(12 - command.name.size(), ' ')
              << command.summary << '\n';
  }
  std::cout
      << "\nFirst steps:\n"
         "  gradrace run scenarios/quickstart.json --plot\n"
         "  gradrace list protocols\n\n"
         "exit status: 0 done; 1 a run failed; 2 bad usage or bad scenario; 130 interrupted\n";
}

int dispatch(const Words& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help();
    return words.empty() ? 2 : 0;
  }
  if (words[0] == "--version") {
    std::cout << version_text() << '\n';
    return 0;
  }
  return command_of(words[0]).run({words.begin() + 1, words.end()});
}

}  // namespace

}  // namespace gradrace

int main(int argc, char** argv) {
  try {
    return gradrace::dispatch({argv + 1, argv + argc});
  } catch (const gradrace::ScenarioError& error) {
    std::cerr << error.what() << '\n';
    return 2;
  } catch (const gradrace::UsageError& error) {
    std::cerr << "gradrace: " << gradrace::printable(error.what()) << '\n';
    return 2;
  } catch (const std::bad_alloc&) {
    std::cerr << "gradrace: out of memory\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "gradrace: " << gradrace::printable(error.what()) << '\n';
    return 1;
  }
}
