#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <ranges>

#include "sim/cli/commands/commands.h"
#include "sim/cli/results/table.h"
#include "sim/cli/results/theory_files.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

std::string number(const std::optional<double>& value) {
  return value ? short_number(*value) : "-";
}

std::string why_no_time(const TheoryRow& row) { return row.at.why_not_known(row.theory); }

std::string why_no_speedup(const TheoryRow& row) {
  if (!row.theory.iteration_time) return "its iteration time is not known";
  if (row.at.cluster.peers) return "sync has a server, and here is none";
  return "the iteration time of sync is not known here";
}

std::string why_no_floor(const TheoryRow& row) {
  if (!row.at.with_model()) return "nothing is trained";
  if (!row.at.model->quadratic()) return "it is known of model quadratic alone";
  return "no formula is known for this protocol, optimiser or learning rate";
}

/// A column of the table, and why a cell of it is empty.
struct TheoryColumn {
  const char* title;
  std::string (*cell)(const TheoryRow&);
  std::string (*why)(const TheoryRow&);  // null: the column is left out where all its cells are
};

constexpr TheoryColumn columns[] = {
    {"iteration time", [](auto& row) { return estimate_text(row.theory.iteration_time); },
     why_no_time},
    {"speed-up over sync", [](auto& row) { return estimate_text(row.speedup); }, why_no_speedup},
    {"staleness", [](auto& row) { return number(row.theory.staleness); }, why_no_time},
    {"error floor", [](auto& row) { return number(row.error_floor); }, why_no_floor},
    {"fresh gradients", [](auto& row) { return estimate_text(row.fresh); }, nullptr},
    {"stable eta", [](auto& row) { return estimate_text(row.stable_eta); }, nullptr},
    {"exchange time", [](auto& row) { return number(row.theory.exchange_time); }, nullptr},
    {"speed-up over all-reduce", [](auto& row) { return estimate_text(row.over_all_reduce); },
     nullptr},
};

/// " of sync, async and 4 more"; empty of all points.
std::string points_text(const std::vector<std::string>& labels, std::size_t all) {
  constexpr std::size_t most = 3;
  if (labels.size() == all) return "";
  return " of " + joined(labels | std::views::take(most)) +
         (labels.size() > most ? " and " + std::to_string(labels.size() - most) + " more" : "");
}

/// Why cells of the column are empty, a line for each reason.
std::string reasons(const TheoryColumn& column, const std::vector<TheoryRow>& rows) {
  nlohmann::ordered_map<std::string, std::vector<std::string>> found;  // [reason]: labels of points
  for (const TheoryRow& row : rows)
    if (column.cell(row) == "-") found[column.why(row)].push_back(row.at.label.text());
  std::string text;
  for (const auto& [why, labels] : found) {
    text +=
        "  no " + std::string(column.title) + points_text(labels, rows.size()) + ": " + why + "\n";
  }
  return text;
}

/// What theory says of the points, for people: a line for each, and a sentence for what is empty.
std::string theory_text(const Scenario& scenario, const std::vector<TheoryRow>& rows) {
  const Point& first = scenario.first();
  std::vector<std::vector<std::string>> cells{{"point"}};
  for (const TheoryRow& row : rows) cells.push_back({row.at.label.text()});
  std::string empty;
  for (const TheoryColumn& column : columns) {
    const auto is_empty = [&](const TheoryRow& row) { return column.cell(row) == "-"; };
    if (!column.why && std::ranges::all_of(rows, is_empty)) continue;
    cells.front().emplace_back(column.title);
    for (std::size_t i = 0; i < rows.size(); ++i) cells[i + 1].push_back(column.cell(rows[i]));
    if (column.why) empty += reasons(column, rows);
  }
  return "\n" + named_title(first) + "\n\n" + aligned(std::move(cells)) +
         "\n  in the long run; <= and >=: bounds, ~: approximate, else exact; times in " +
         time_unit_text(first) +
         "\n  speed-up over sync: of updates, each of which averages the gradients that its "
         "protocol "
         "waits for\n" +
         empty;
}

}  // namespace

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
