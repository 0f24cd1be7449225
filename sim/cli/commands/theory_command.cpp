#include <iostream>
#include <limits>

#include "analysis/theory/runtime_theory.h"
#include "analysis/theory/staleness_theory.h"
#include "sim/cli/commands/commands.h"
#include "sim/cli/results/csv.h"
#include "sim/cli/results/error_curve.h"
#include "sim/cli/results/results_writer.h"

namespace gradrace {

namespace {

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

const char* ageing_name(Ageing ageing) {
  switch (ageing) {
    case Ageing::memoryless:
      return "memoryless";
    case Ageing::new_longer:
      return "new-longer";
    case Ageing::new_shorter:
      return "new-shorter";
    case Ageing::neither:
      return "neither";
  }
  return "";
}

void add_row(Csv& csv, std::size_t number, const Point& point) {
  const std::uint32_t learners = point.cluster.learners, k = point.make_protocol()->k();
  const Theory theory = point.theory();
  const auto law = point.common_law();
  std::optional<Estimate> speedup, fresh;
  if (law && theory.iteration_time)
    speedup = speedup_over_sync(*law, learners, *theory.iteration_time);
  if (law) fresh = fresh_fraction(*law, theory, k, learners);
  csv.cell(number);
  csv.cell(point.protocol_name);
  csv.cell(learners);
  csv.cell(k);
  add_estimate(csv, theory.iteration_time);
  csv.cell(theory.staleness.value_or(not_known));
  add_estimate(csv, speedup);
  csv.cell(error_floor(point).value_or(not_known));
  for (const auto& value : point.swept) csv.cell(value);
  add_estimate(csv, fresh);
  csv.cell(error_floor_bound(point).value_or(not_known));
  add_estimate(csv, stable_eta(point));
  csv.cell(std::string_view(law ? ageing_name(law->ageing()) : ""));
  csv.cell(law ? sync_over_async(*law, learners) : not_known);
  csv.cell(law && k <= learners ? waiting_over_working(*law, k, learners) : not_known);
  csv.cell(largest_bounded_eta(point).value_or(not_known));
  csv.end_row();
}

std::string table_of(const Scenario& scenario) {
  Csv csv;
  for (const char* column :
       {"point", "protocol", "learners", "k", "theory_iteration_time", "theory_basis",
        "theory_staleness", "speedup_over_sync", "speedup_basis", "error_floor"}) {
    csv.cell(std::string_view(column));
  }
  for (const auto& path : scenario.swept_paths) csv.cell(swept_column(path));
  csv.row("theory_fresh", "fresh_basis", "error_floor_bound", "stable_eta", "stable_eta_basis",
          "ageing", "sync_over_async", "waiting_over_working", "largest_bounded_eta");
  for (std::size_t i = 0; i < scenario.points.size(); ++i) add_row(csv, i, scenario.points[i]);
  return csv.text();
}

}  // namespace

int theory_command(const std::filesystem::path& file, const ScenarioChanges& changes, bool curves) {
  const Scenario scenario = read_scenario(file, changes);
  if (curves) {
    std::cout << error_curve_header << '\n' << error_curve_rows(scenario);
  } else {
    std::cout << table_of(scenario);
  }
  return 0;
}

}  // namespace gradrace
