#include "sim/cli/commands/search_report.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/cli/results/manifest.h"
#include "sim/cli/results/sample_mean.h"
#include "sim/cli/results/table.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

std::size_t diverged(const SettingRuns& setting) {
  return static_cast<std::size_t>(
      std::count_if(setting.accuracies.begin(), setting.accuracies.end(),
                    [](double accuracy) { return std::isnan(accuracy); }));
}

double relative_time(const Search& search, const SettingRuns& setting) {
  return SampleMean(setting.times).mean / SampleMean(search.first.times).mean;
}

const char* verdict(const Trial& trial) { return trial.passed ? "pass" : "fail"; }

std::string percent(double share) { return number_text(100 * share) + " %"; }

std::string known_number(double value, int digits) {
  return std::isnan(value) ? "-" : short_number(value, digits);
}

std::vector<std::string> cells(const Search& search, const SettingRuns& setting,
                               const char* verdict) {
  const SampleMean accuracy(setting.accuracies), time(setting.times);
  const std::size_t lost = diverged(setting), runs = setting.accuracies.size();
  return {percent(setting.share),
          known_number(accuracy.mean, 4),
          known_number(accuracy.sd, 2),
          std::isnan(accuracy.margin) ? "-" : "± " + short_number(accuracy.margin, 2),
          known_number(time.mean, 4),
          short_number(relative_time(search, setting)),
          verdict,
          std::to_string(runs) + (lost > 0 ? " (" + std::to_string(lost) + " diverged)" : "")};
}

std::string table(const Search& search) {
  std::vector<std::vector<std::string>> rows{
      {"share", "accuracy", "SD", "95 %", "time", "relative", "verdict", "runs"}};
  rows.push_back(cells(search, search.first, "target"));
  for (std::size_t i = 0; i < search.settings.size(); ++i) {
    rows.push_back(cells(search, search.settings[i], verdict(search.found.path[i])));
  }
  return aligned(rows);
}

/// The accuracy from which a setting passes.
double bar(const Search& search) { return search.target - search.rule.beta; }

/// Shares of the settings whose verdict other runs may well turn round.
std::string unclear_shares(const Search& search) {
  std::string shares;
  for (const auto& setting : search.settings) {
    const SampleMean accuracy(setting.accuracies);
    const double lead = accuracy.mean - bar(search);
    if (std::isnan(accuracy.mean) || std::abs(lead) > accuracy.margin) continue;
    shares += (shares.empty() ? "" : ", ") + percent(setting.share);
  }
  return shares;
}

/// Of the resampled searches; NaN where there were none.
struct Success {
  double share = not_known, low = not_known, high = not_known;  // and its 95 % interval

  Success(std::uint32_t searches, std::uint32_t successes) {
    using Law = boost::math::binomial_distribution<>;
    const double trials = searches, hits = successes;
    if (searches == 0) return;
    share = hits / trials;
    low = Law::find_lower_bound_on_p(trials, hits, 0.025);
    high = Law::find_upper_bound_on_p(trials, hits, 0.025);
  }
};

std::string shares_text(const std::vector<double>& shares) {
  std::string text;
  for (const double share : shares) text += (text.empty() ? "" : ", ") + percent(share);
  return text;
}

std::string success_text(const Search& search) {
  if (!search.single.empty()) {
    return "not known: a single run of " + shares_text(search.single) + " shows no spread\n";
  }
  if (search.lacking) return "not known: the search was cut short\n";
  const Success success(search.searches, search.successes);
  return short_number(100 * success.share, 3) + " % of " + std::to_string(search.searches) +
         " searches with runs drawn anew from these end there too (95 % interval " +
         short_number(100 * success.low, 3) + " to " + short_number(100 * success.high, 3) +
         " %,\n           as if these runs were all there are" +
         (search.rule.runs < 20
              ? ": " + count_text(search.rule.runs, "run") + " a setting tell little of others"
              : "") +
         ")\n";
}

std::string pays_after(const SearchCost& cost) {
  return std::isinf(cost.recurrences) ? "never" : short_number(cost.recurrences, 3);
}

std::string cheaper_table(const Search& search) {
  if (search.cheaper.empty()) return {};
  std::vector<std::vector<std::string>> rows{
      {"first runs", "runs a setting", "cost", "pays after", "success"}};
  for (const auto& [first_runs, runs, cost, successes] : search.cheaper) {
    const double success = 100 * Success(search.searches, successes).share;
    rows.push_back({first_runs > 0 ? std::to_string(first_runs) : "target known",
                    std::to_string(runs), short_number(cost.trainings), pays_after(cost),
                    short_number(success, 3) + " %"});
  }
  return "\n  searches with as many runs or fewer:\n\n" + aligned(rows);
}

std::string findings(const Search& search) {
  const bool found = search.found.share < 1;
  std::string text =
      "  accuracy is 1 - final test error; it passes from " + short_number(bar(search)) + " = " +
      short_number(search.target) + " - " + short_number(search.rule.beta) +
      (search.rule.first_runs > 0 ? "" : ", the target given") +
      "\n  share of the work under the first protocol; SD over runs; 95 %: interval of "
      "the mean, by Student's t\n\n";
  text += "  switch:  " +
          (found ? "at " + percent(search.found.share) + " of the work"
                 : std::string("never: no share that was tried passes")) +
          "\n";
  text += "  cost:    the search took as long as " + short_number(search.cost.trainings) +
          " runs of the first protocol alone; " +
          (std::isinf(search.cost.recurrences)
               ? std::string("the switch never saves that")
               : "the switch saves that in " + short_number(search.cost.recurrences, 3) +
                     " runs of the job") +
          "\n";
  text += "  success: " + success_text(search);
  if (search.lacking) {
    text += "  ended:   the table has no runs of " + percent(*search.lacking) + "\n";
  }
  if (!search.found.path.empty() && search.found.path.back().passed && !search.lacking) {
    text += "  ended:   with the last of " + std::to_string(search.found.path.size()) +
            " settings, which passed: an earlier switch may do too; more --settings would tell\n";
  }
  if (!search.unused.empty()) {
    text += "  unused:  the table's runs of " + shares_text(search.unused) +
            ", which the search did not come to\n";
  }
  if (search.drops_policy) {
    text +=
        "  alone:   the first protocol went without its greedy policy, which has no phase to "
        "go over to\n";
  }
  const std::string unclear = unclear_shares(search);
  if (!unclear.empty()) {
    text += "  unclear: " + unclear + ": the 95 % interval of the accuracy contains " +
            short_number(bar(search)) +
            ", so that other runs may change the verdict; take more --runs\n";
  }
  return text;
}

}  // namespace

struct SettingRow {
  double share;
  std::size_t runs, diverged;
  SampleMean accuracy, time;
  double relative_time;
  std::string verdict, folder;
};

struct CostRow : CheaperSearch, Success {};

const CsvFile<SettingRow> search_csv{
    "search.csv",
    "one setting of a search, the first protocol alone before them",
    {{"share", "fraction", "of the work under the first protocol", &SettingRow::share},
     {"runs", "runs", "of the setting", &SettingRow::runs},
     {"diverged", "runs", "of these", &SettingRow::diverged},
     {"accuracy",
      "fraction",
      {"mean over runs", "1 - final test error"},
      [](auto& row) { return row.accuracy.mean; }},
     {"accuracy_sd", "fraction", "its standard deviation over runs",
      [](auto& row) { return row.accuracy.sd; }},
     {"accuracy_95",
      "fraction",
      {"half of the 95 % interval of its mean", "t_{0.975, runs - 1} accuracy_sd / sqrt(runs)"},
      [](auto& row) { return row.accuracy.margin; }},
     {"time", "time", "of a run, mean over runs", [](auto& row) { return row.time.mean; }},
     {"time_sd", "time", "its standard deviation", [](auto& row) { return row.time.sd; }},
     {"relative_time",
      "",
      {"over that of the first protocol alone", "time / its time"},
      &SettingRow::relative_time},
     {"verdict", "", "target, pass or fail", &SettingRow::verdict},
     {"folder", "", "of the results of its runs", &SettingRow::folder}}};

const CsvFile<CostRow> costs_csv{
    "costs.csv",
    "one search with as many runs or fewer, of a new or of a recurring job",
    {{"first_runs", "runs", "of the first protocol alone; 0: target known", &CostRow::first_runs},
     {"runs", "runs", "of each setting", &CostRow::runs},
     {"cost", "runs", "of the first protocol alone, of as much time",
      [](auto& row) { return row.cost.trainings; }},
     {"recurrences", "runs", "of the job after which the switch has saved that; inf: never",
      [](auto& row) { return row.cost.recurrences; }},
     {"success", "fraction", "of searches with runs drawn anew that end at the same share",
      &CostRow::share},
     {"success_low", "fraction", "lower end of its 95 % interval", &CostRow::low},
     {"success_high", "fraction", "upper end of its 95 % interval", &CostRow::high}}};

std::string settings_text(const Search& search) {
  std::vector<SettingRow> rows;
  const auto add = [&](const SettingRuns& setting, const char* verdict) {
    rows.push_back({setting.share, setting.accuracies.size(), diverged(setting),
                    SampleMean(setting.accuracies), SampleMean(setting.times),
                    relative_time(search, setting), verdict, setting.folder});
  };
  add(search.first, "target");
  for (std::size_t i = 0; i < search.settings.size(); ++i)
    add(search.settings[i], verdict(search.found.path[i]));
  return search_csv.text(rows);
}

std::string costs_text(const Search& search) {
  std::vector<CostRow> rows;
  for (const auto& cheaper : search.cheaper)
    rows.push_back({cheaper, Success(search.searches, cheaper.successes)});
  return costs_csv.text(rows);
}

std::string search_json(const Search& search, const Scenario& scenario,
                        const std::map<std::string, std::string>& files) {
  Json path = Json::array();
  for (std::size_t i = 0; i < search.settings.size(); ++i) {
    const Trial& trial = search.found.path[i];
    path.push_back({{"share", trial.share},
                    {"accuracy", trial.accuracy},  // null: a run diverged
                    {"relative_time", relative_time(search, search.settings[i])},
                    {"verdict", verdict(trial)},
                    {"folder", search.settings[i].folder}});
  }
  const Success success(search.searches, search.successes);
  const Json json{{"scenario", Json::parse(scenario.resolved)},
                  {"file", std::filesystem::absolute(scenario.file).string()},
                  {"program", version_text()},
                  {"accuracies", search.table.empty() ? Json() : Json(search.table)},
                  {"beta", search.rule.beta},
                  {"settings", search.rule.settings},
                  {"runs", search.rule.runs},
                  {"first_runs", search.rule.first_runs},
                  {"target", search.target},
                  {"path", path},
                  {"switch_point", search.found.share},  // 1: none
                  {"cost", search.cost.trainings},
                  {"recurrences", search.cost.recurrences},  // null: never
                  {"unused", search.unused},
                  {"searches", search.searches},
                  {"success", success.share},  // null: not known
                  {"success_95", {success.low, success.high}},
                  {"files", files}};
  return json.dump(2) + "\n";
}

std::string search_report(const Search& search, const Scenario& scenario) {
  const Point& point = scenario.first();
  return "\n" + named_title(point) + " (" + count_text(search.settings.size(), "setting") +
         (search.table.empty() ? " x " + count_text(search.rule.runs, "run")
                               : std::string(", runs of a table")) +
         ")\n\n" + table(search) + "\n" + findings(search) + cheaper_table(search);
}

}  // namespace gradrace
