#include <iostream>
#include <limits>

#include "sim/cli/commands.h"
#include "sim/cli/csv.h"
#include "sim/cli/results_writer.h"

namespace gradrace {

namespace {

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

/// Whether w' = w - eta g, and w' is what is evaluated.
bool plain_sgd(const Rule& rule, const Recipe& recipe) {
  return rule.momentum == 0 && !rule.rmsprop && rule.ema == 0 && recipe.clip == 0;
}

/// Of a run whose gradients are all fresh and whose K and learning rate are constant.
double error_floor(const Point& point, const Theory& theory, const Protocol& protocol) {
  if (protocol.needs_evaluations() || !protocol.changes().empty()) return not_known;
  const std::uint32_t k = protocol.k();
  if (!point.with_model() || !plain_sgd(point.rule, point.recipe)) return not_known;
  if (theory.staleness != 0.0) return not_known;
  constexpr auto endless = std::numeric_limits<std::uint64_t>::max();
  const double eta = point.learning_rate->eta({}, 0, k);
  const Work end{endless, endless, std::numeric_limits<double>::max()};
  if (point.learning_rate->eta(end, 0, k) != eta) return not_known;
  return point.model->error_floor(eta, k).value_or(not_known);
}

/// Of sync's exact time over one of that basis.
const char* basis_of_ratio(Basis basis) {
  if (basis == Basis::upper) return basis_name(Basis::lower);
  return basis_name(basis == Basis::lower ? Basis::upper : basis);
}

}  // namespace

int theory_command(const std::filesystem::path& file, const ScenarioChanges& changes) {
  const Scenario scenario = read_scenario(file, changes);
  Csv csv;
  for (const char* column :
       {"point", "protocol", "learners", "k", "theory_iteration_time", "theory_basis",
        "theory_staleness", "speedup_over_sync", "speedup_basis", "error_floor"}) {
    csv.cell(std::string_view(column));
  }
  for (const auto& path : scenario.swept_paths) csv.cell(swept_column(path));
  csv.end_row();
  for (std::size_t number = 0; number < scenario.points.size(); ++number) {
    const Point& point = scenario.points[number];
    const auto protocol = point.make_protocol();
    const Theory theory = point.theory();
    const double time = theory.iteration_time ? theory.iteration_time->value : not_known;
    const auto law = point.common_law();
    const double time_of_sync =
        law ? law->expected_order_statistic(point.cluster.learners, point.cluster.learners)
            : not_known;
    csv.cell(number);
    csv.cell(point.protocol_name);
    csv.cell(point.cluster.learners);
    csv.cell(protocol->k());
    csv.cell(time);
    csv.cell(
        std::string_view(theory.iteration_time ? basis_name(theory.iteration_time->basis) : ""));
    csv.cell(theory.staleness.value_or(not_known));
    csv.cell(time_of_sync / time);
    csv.cell(std::string_view(theory.iteration_time ? basis_of_ratio(theory.iteration_time->basis)
                                                    : ""));
    csv.cell(error_floor(point, theory, *protocol));
    for (const auto& value : point.swept) csv.cell(value);
    csv.end_row();
  }
  std::cout << csv.text();
  return 0;
}

}  // namespace gradrace
