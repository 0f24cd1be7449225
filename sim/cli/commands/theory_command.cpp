#include <unistd.h>

#include <iostream>

#include "sim/cli/commands/commands.h"
#include "sim/cli/results/theory_files.h"
#include "sim/cli/results/theory_text.h"

namespace gradrace {

static bool wants_table(const Arguments& call) {
  const bool table = call.has("table"), csv = call.has("csv");
  if (table && (csv || call.has("curves")))
    call.refuse("--table is no CSV, as --csv and --curves are; take one");
  return table || (!csv && ::isatty(STDOUT_FILENO) != 0);
}

static int theory(const Words& words) {
  Syntax syntax{.positional = "file"};
  add_scenario_options(syntax);
  syntax.options.add_options()                                        //
      ("csv", "as CSV, on a terminal too")                            //
      ("table", "as a table for people, also into a pipe or a file")  //
      ("curves",
       "the loss over simulated time in place of the table, where it is known (quadratic); CSV");
  const auto call = parse(theory_command, words, syntax);
  if (!call) return 0;
  const auto file = call->scenario_file();
  const bool as_table = wants_table(*call);
  ScenarioChanges changes = changes_of(*call);
  changes.python = PythonUse::leave;
  const Scenario scenario = read_scenario(file, changes);
  if (call->has("curves")) {
    const auto curve = error_curve_rows(scenario, theories_of(scenario));
    std::cout << theory_csv.text(curve);
    if (curve.empty()) {
      std::cerr << "note: no row: the loss over time is known of model quadratic alone, where its "
                   "protocol and learning rate allow it\n";
    }
    return 0;
  }
  std::vector<TheoryRow> rows;
  for (std::size_t i = 0; i < scenario.points.size(); ++i) rows.emplace_back(i, scenario.points[i]);
  std::cout << (as_table ? theory_text(scenario, rows)
                         : theory_table(scenario.swept_paths).text(rows));
  return 0;
}

extern const Command theory_command{
    "theory", "prints what theory predicts for each point: a table, or CSV into a pipe",
    "  gradrace theory FILE [options]\n\n"
    "On a terminal a table of the chief numbers, with a sentence for each that is not known; into "
    "a\n"
    "pipe or a file all of them as CSV, each with its basis beside it: exact, an upper or a lower\n"
    "bound, or approximate.  There not_known says why an iteration time or a staleness is empty;\n"
    "gradrace list columns says what each column is.\n\n"
    "With --curves a row is a whole number of updates: the mean time at which they are made, and\n"
    "the mean loss then, or its bound.\n\n"
    "Examples:\n"
    "  gradrace theory quickstart --set cluster.learners=20\n"
    "  gradrace theory quickstart > theory.csv\n"
    "  gradrace theory scenarios/error_theory.json --curves\n",
    theory};

}  // namespace gradrace
