#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "sim/cli/commands/asked_program.h"
#include "sim/cli/commands/commands.h"
#include "sim/cli/output/published_files.h"
#include "sim/cli/results/manifest.h"
#include "sim/cli/results/theory_files.h"
#include "sim/cli/usage_error.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"
#include "sim/reading/edit_distance.h"

namespace gradrace {

namespace po = boost::program_options;

namespace {

using Json = nlohmann::ordered_json;

const AskedProgram advise_program{
    .script = "advise/advise.py", .record = advise_record, .files = {"advise.csv"}};

/// A level that is to be reached, or a budget, of time or money, in which as little loss or error
/// as can be is to be left.
struct Goal {
  std::string key;  // "loss", "test_error", "time", "cost"
  double level = 0;
  bool is_budget() const { return key == "time" || key == "cost"; }
};

constexpr std::array<std::string_view, 4> goal_keys = {"test_error", "loss", "time", "cost"};

Goal read_goal(const Arguments& call) {
  const std::string text = call.text("target");
  const auto equals = text.find('=');
  Goal goal{.key = text.substr(0, equals)};
  if (goal.key == "error") goal.key = "test_error";
  if (std::ranges::find(goal_keys, goal.key) == goal_keys.end()) {
    const std::string_view near = nearest_name(goal.key, goal_keys);
    call.refuse("--target " + printable(text) +
                ": no such target; allowed: test_error, loss, time, cost" +
                (near.empty() ? "" : "; did you mean \"" + std::string(near) + "\"?"));
  }
  if (equals == std::string::npos || !parse_number(text.substr(equals + 1), goal.level) ||
      !(goal.level > 0) || !std::isfinite(goal.level))
    call.refuse("--target " + printable(text) + ": allowed: " + goal.key +
                "=VALUE with a number above 0");
  return goal;
}

/// "90", "30s", "2min", "1.5h".
double read_seconds(const Arguments& call) {
  const std::string text = call.text("budget");
  static const std::map<std::string, double, std::less<>> units = {
      {"", 1}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}};
  const auto end = std::min(text.find_first_not_of("0123456789.+-eE"), text.size());
  const auto unit = units.find(text.substr(end));
  double number = 0;
  if (unit != units.end() && parse_number(text.substr(0, end), number) && number > 0)
    return number * unit->second;
  call.refuse("--budget takes a time above 0, got \"" + printable(text) +
              "\"; allowed: 90, 30s, 2min, 1h");
}

[[noreturn]] void refuse_advice(const Scenario& scenario, const std::string& what) {
  throw UsageError(scenario.file.string() + ": advise " + what);
}

/// The hardest of the scenario's targets, else of what ends its runs.
Goal goal_of(const Scenario& scenario) {
  const Point& point = scenario.first();
  const auto hardest = [](const std::vector<double>& levels, const std::optional<double>& end) {
    return levels.empty() ? end : std::optional(std::ranges::min(levels));
  };
  if (const auto error = hardest(point.target_test_error, point.stop.test_error))
    return {.key = "test_error", .level = *error};
  if (const auto loss = hardest(point.target_loss, point.stop.loss))
    return {.key = "loss", .level = *loss};
  refuse_advice(scenario,
                "asks which point is best for a target, and this scenario has none; allowed: "
                "--target test_error=.., loss=.., time=.. or cost=..; or targets or stop with a "
                "test_error or loss");
}

/// Of the machines of a point, a unit of time; 0: no price is given.
double price_of(const Json& scenario, const Point& point) {
  for (const auto& [path, value] : point.settings)
    if (path == "cluster.price" && value.is_number())
      return value.get<double>() * point.cluster.learners;
  const auto& cluster = scenario.at("cluster");
  const bool priced = cluster.contains("price") && cluster["price"].is_number();
  return priced ? cluster["price"].get<double>() * point.cluster.learners : 0;
}

/// A choice takes several points, and a range several values.
void check_sweep(const Scenario& scenario) {
  if (scenario.points.size() < 2)
    refuse_advice(
        scenario,
        "chooses among the points of a sweep, and this scenario has one point; allowed: "
        "a sweep of protocols, cluster.learners, rates and the like (gradrace list sweep)");
  for (std::size_t i = 0; i < scenario.swept_paths.size(); ++i) {
    const auto& value = scenario.first().settings[i].value;
    const auto same = [&](const Point& point) { return point.settings[i].value == value; };
    if (std::ranges::all_of(scenario.points, same))
      refuse_advice(scenario, "chooses in ranges, and sweep." + scenario.swept_paths[i] +
                                  " has one value, " + scenario.first().settings[i].cell() +
                                  "; allowed: two values or more, or the value outside the sweep");
  }
}

void check_model(const Scenario& scenario, const Goal& goal) {
  const auto learns = [&](const Point& point) {
    return point.with_model() && (goal.key != "test_error" || point.model->has_test_error());
  };
  if (!std::ranges::all_of(scenario.points, learns))
    refuse_advice(scenario, goal.key == "test_error"
                                ? "looks for a test error, and this scenario has none; allowed: "
                                  "--target loss=..; or a model of a data set with classes"
                                : "compares losses or errors, and this scenario trains nothing; "
                                  "allowed: a model, and no timing_only");
}

void check_prices(const Scenario& scenario, const Json& resolved, const Goal& goal, bool by_cost) {
  const auto priced = [&](const Point& point) { return price_of(resolved, point) > 0; };
  if ((by_cost || goal.key == "cost") && !std::ranges::all_of(scenario.points, priced))
    refuse_advice(scenario, std::string(by_cost ? "--by cost" : "--target cost") +
                                " asks for money, and no machine has a price; allowed: "
                                "cluster.price above 0, of a machine for a unit of time");
  if (goal.key == "cost" && resolved.at("cluster").value("price_per_gigabyte", Json()).is_number())
    refuse_advice(scenario,
                  "--target cost counts the time of machines, and this scenario prices bytes too; "
                  "allowed: no cluster.price_per_gigabyte, or --target loss=.. --by cost");
}

/// What a run at one learning rate settles at is known of some.
void check_floors(const Scenario& scenario, const Goal& goal) {
  if (goal.key != "loss") return;
  double least = INFINITY;
  for (std::size_t i = 0; i < scenario.points.size(); ++i) {
    const auto floor = TheoryRow(i, scenario.points[i]).error_floor;
    if (!floor) return;
    least = std::min(least, *floor);
  }
  if (goal.level < least)
    refuse_advice(scenario, "--target loss=" + number_text(goal.level) +
                                " is below what runs settle at, " + number_text(least) +
                                " at the least (gradrace theory); allowed: a loss above that");
}

/// The limits of a candidate's runs: those of the scenario and the target.
Json stop_of(const Scenario& scenario, const Json& resolved, const Goal& goal) {
  Json stop = resolved.at("stop");
  stop.erase("loss");
  stop.erase("test_error");
  if (goal.key == "time") stop["time"] = goal.level;
  if (goal.key == "cost") {
    double longest = 0;
    for (const Point& point : scenario.points)
      longest = std::max(longest, goal.level / price_of(resolved, point));
    stop["time"] = longest;
  }
  if (stop.empty())
    refuse_advice(scenario,
                  "needs to know when to give a run up that does not reach the target, and stop "
                  "says no more; allowed in stop: time, updates, gradients, epochs");
  if (!goal.is_budget()) stop[goal.key] = goal.level;
  return stop;
}

Json targets_of(const Goal& goal) {
  return goal.is_budget() ? Json::object() : Json{{goal.key, {goal.level}}};
}

/// Each point runs as a scenario of its own; ScenarioError where a key says nothing to one alone.
void check_alone(const Scenario& scenario, const AskedCall& call) {
  for (const Point& point : scenario.points) {
    ScenarioChanges changes = call.changes;
    changes.sets.push_back({"sweep", "{}", "advise, of each point alone"});
    for (const auto& [path, value] : point.settings)
      changes.sets.push_back({path, value.dump(), "advise, of " + point.label.text()});
    read_scenario(call.file, changes);
  }
}

/// The scenario with that end, which is checked as any other.
Scenario read_candidates(const AskedCall& call, const Json& stop, const Json& targets) {
  ScenarioChanges changes = call.changes;
  changes.sets.push_back({"stop", stop.dump(), "stop of advise"});
  changes.sets.push_back({"targets", targets.dump(), "targets of advise"});
  return read_scenario(call.file, changes);
}

Json points_of(const Scenario& scenario, const Json& resolved) {
  Json points = Json::array();
  for (std::size_t i = 0; i < scenario.points.size(); ++i) {
    Json point = point_json(i, scenario.points[i]);
    point["learners"] = scenario.points[i].cluster.learners;
    point["price"] = price_of(resolved, scenario.points[i]);
    points.push_back(std::move(point));
  }
  return points;
}

constexpr double gradients_of_each = 200, most_gradients = 1e7;  // where none are computed

/// So many that each of the most learners has about gradients_of_each.
double timing_gradients(const Scenario& scenario) {
  double most = 10;
  for (const Point& point : scenario.points) most = std::max(most, 1.0 * point.cluster.learners);
  return std::min(gradients_of_each * most, most_gradients);
}

struct AdviseOptions {
  AskedCall call;
  std::optional<Goal> goal = {};  // none: the scenario's
  bool by_cost = false, explain = false;
  double confidence = 0.9, share = 0.2;
  std::optional<double> seconds = {};
};

int advise(AdviseOptions options) {
  const Scenario given = read_scenario(options.call.file, options.call.changes);
  const Json resolved = Json::parse(given.resolved);
  check_sweep(given);
  const Goal goal = options.goal ? *options.goal : goal_of(given);
  check_model(given, goal);
  check_prices(given, resolved, goal, options.by_cost);
  if (goal.is_budget() && options.by_cost)
    refuse_advice(given,
                  "--by says what a loss or error is to be reached by the least of, and "
                  "--target is a budget; take one");
  check_floors(given, goal);
  check_alone(given, options.call);
  const Json stop = stop_of(given, resolved, goal), targets = targets_of(goal);
  const Scenario scenario = read_candidates(options.call, stop, targets);
  constexpr std::size_t usual_runs = 8;
  options.call.changes = with_one_device(options.call, usual_runs);
  if (options.call.out.empty()) options.call.out = "out/advise-" + given.first().name;
  const bool errors =
      goal.key == "test_error" || (goal.is_budget() && given.first().model->has_test_error());
  Json asked = asked_of(options.call, scenario);
  asked.update({{"points", points_of(scenario, resolved)},
                {"target",
                 {{"key", goal.key},
                  {"level", goal.level},
                  {"is_budget", goal.is_budget()},
                  {"by", options.by_cost ? "cost" : "time"},
                  {"column", errors ? "test_error" : "loss"}}},
                {"stop", stop},
                {"targets", targets},
                {"replicas", given.replicas()},
                {"timing_gradients", timing_gradients(scenario)},
                {"confidence", options.confidence},
                {"share", options.share},
                {"seconds", options.seconds ? Json(*options.seconds) : Json()},
                {"explain", options.explain}});
  return publish_answer(advise_program, options.call, scenario, asked);
}

}  // namespace

static int advise(const Words& words) {
  Syntax syntax{.positional = "file"};
  syntax.options.add_options()                                       //
      ("target", po::value<std::string>()->value_name("KEY=VALUE"),  //
       "test_error=.. or loss=.., to be reached soonest; time=.. or cost=.., a budget (default: "
       "the hardest of the scenario's targets)")                                //
      ("by", po::value<std::string>()->value_name("time|cost"),                 //
       "what a loss or error is to be reached by the least of (default time)")  //
      ("confidence", po::value<std::string>()->value_name("P"),                 //
       "how sure the choice is to be (default 0.9)")                            //
      ("share", po::value<std::string>()->value_name("PART"),                   //
       "of the gradients that all points' runs would compute: at most about so many (default "
       "0.2)")                                                               //
      ("budget", po::value<std::string>()->value_name("TIME"),               //
       "of the call itself: 90, 30s, 2min, 1h (default: until it is sure)")  //
      ("explain", "what the models found, and how far they are from the runs");
  add_asked_options(syntax, "advise");
  const auto call = parse(advise_command, words, syntax);
  if (!call) return 0;
  AdviseOptions options;
  options.call = asked_call(*call);
  if (call->has("target")) options.goal = read_goal(*call);
  if (call->has("by") && call->text("by") != "time" && call->text("by") != "cost")
    call->refuse("--by " + printable(call->text("by")) + ": allowed: time, cost");
  options.by_cost = call->text("by") == "cost";
  if (call->has("confidence")) options.confidence = call->fraction("confidence");
  if (options.confidence < 0.5 || options.confidence > 0.999)
    call->refuse("--confidence must be 0.5 to 0.999, got " + call->text("confidence"));
  if (call->has("share")) options.share = call->fraction("share");
  if (call->has("budget")) options.seconds = read_seconds(*call);
  options.explain = call->has("explain");
  return advise(options);
}

extern const Command advise_command{
    "advise", "finds which point of a sweep is best for a target, by few runs",
    "  gradrace advise SCENARIO [options]\n\n"
    "Which point of the scenario's sweep (protocol, learners, minibatch, rate, network ...)\n"
    "reaches a loss or test error first, or for the least money (--by cost; cluster.price), or\n"
    "comes to the least within a budget of time or money?  In place of running them all:\n\n"
    "  1. all points run without gradients, which costs nothing: the time of an update;\n"
    "  2. few points, an A-optimal design over the others, train once;\n"
    "  3. the Lasso fits log(loss - least) of these to updates, learners and what is swept, and\n"
    "     foretells every point, with an interval (Hemingway, Pan et al., 2017);\n"
    "  4. those that may be best race: replicas with the same random numbers, twice as many each\n"
    "     round, until 1.5 times the best time so far; who is surely worse drops out.\n\n"
    "It ends when, with that confidence, no point is better than the chosen one by more than 10 "
    "%,\n"
    "or when its runs have computed a fifth of the gradients that all points' runs would "
    "(--share).\n"
    "Prints the answer in a sentence, a table, what another link or machine would change, and\n"
    "what it cost.  Writes advise.csv, advise.json and a folder of results for each point that\n"
    "ran (gradrace plot and report draw them).  After an interruption, or with a larger --budget\n"
    "or --share, the same call goes on.  Exit status 1: the budget ended before it was sure.\n\n"
    "Examples:\n"
    "  gradrace advise my.json                                which point reaches its target "
    "first?\n"
    "  gradrace advise my.json --target loss=0.4 --by cost    for the least money?\n"
    "  gradrace advise my.json --target time=100              the least error by time 100?\n"
    "  gradrace advise my.json --budget 2min --confidence 0.95 --explain\n",
    advise};

}  // namespace gradrace
