#include "sim/cli/results/theory_files.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/theory/runtime_theory.h"
#include "analysis/theory/staleness_theory.h"
#include "distributions/integrand_budget.h"
#include "sim/cli/results/run_files.h"
#include "sim/peer_network.h"

namespace gradrace {

TheoryRow::TheoryRow(std::size_t number, const Point& of)
    : point(number),
      at(of),
      learners(of.cluster.learners),
      k(of.make_protocol()->k()),
      theory(of.theory()),
      not_known(of.not_known(theory)) {
  if (const auto descent = of.descent(theory)) {
    stable_eta = gradrace::stable_eta(*descent);
    error_floor = gradrace::error_floor(*descent);
    error_floor_bound = gradrace::error_floor_bound(*descent);
    largest_bounded_eta = gradrace::largest_bounded_eta(*descent);
    disagreement = gradrace::disagreement(*descent);
  }
  const auto protocol = of.make_protocol();
  if (const auto mixing = protocol->mixing()) {
    spectral_gap = gradrace::spectral_gap(*mixing);
    rho = mixing->rho;
  }
  if (of.with_compression()) add_message();
  const auto law = of.common_law();
  if (!law) {
    compare_with_sync();
    return;
  }
  const bool server = protocol.has_server();
  if (!server) compare(protocol->traits(), *law);
  constexpr std::string_view names[] = {"memoryless", "new-longer", "new-shorter", "neither"};
  if (const auto known = within_budget([&] { return law->ageing(); }))
    ageing = names[static_cast<std::size_t>(*known)];
  if (theory.iteration_time && !of.cluster.peers && !of.transit().any())
    speedup =
        within_budget([&] { return speedup_over_sync(*law, learners, *theory.iteration_time); });
  fresh = within_budget([&] { return fresh_fraction(*law, theory, k, learners); }).value_or(fresh);
  sync_over_async = within_budget([&] { return gradrace::sync_over_async(*law, learners); });
  if (server && k <= learners)
    waiting_over_working =
        within_budget([&] { return gradrace::waiting_over_working(*law, k, learners); });
}

/// A ring of S bytes takes 2 (P - 1) / P S / B and a gather of s bytes (P - 1) s / B.
void TheoryRow::add_message() {
  const double numbers = at.numbers_sent();
  const auto compressor = at.compressor();
  if (numbers == 0) return;
  if (const auto codes = at.codes(numbers)) {
    message_error = codes->compressors.front()->most_error(numbers);
    bits = codes->planned;
    if (bits) message_bytes = bits->mean * numbers / 8 + sizeof(float);
    return;
  }
  message_bytes = compressor->bytes(numbers);
  message_error = compressor->most_error(numbers);
  if (!compressor->adds(numbers)) gather_break_even = 2 * sizeof(float) * numbers / *message_bytes;
}

void TheoryRow::compare_with_sync() {
  if (!theory.iteration_time || at.cluster.peers || at.transit().any()) return;
  constexpr double any = std::numeric_limits<double>::infinity();
  const auto of_sync =
      within_budget([&] {
        return at.cluster.runtimes.slowest(learners, at.samples(), at.local_steps(), any);
      }).value_or(std::nullopt);
  if (of_sync) speedup = speedup_over_sync(*of_sync, *theory.iteration_time);
}

/// With what all-reduce takes in one bucket, a minibatch of each learner.
void TheoryRow::compare(const Traits& traits, const Distribution& law) {
  constexpr double rounding = 1e-12;
  if (theory.may_come_late && theory.exchange_time > 0.0)
    hiding_delay = std::ceil((1 - rounding) * *theory.exchange_time / law.mean());
  if (!theory.iteration_time) return;
  std::vector<std::uint32_t> all(learners);
  std::iota(all.begin(), all.end(), 0);
  const auto network = at.network_of_gradients();
  const double exchange = collective_time(network ? &*network : nullptr, all);
  over_all_reduce =
      within_budget([&] { return speedup_over_sync(law, learners, *theory.iteration_time); });
  if (!over_all_reduce) return;
  over_all_reduce->value += exchange / theory.iteration_time->value;
  if (!traits.together) over_all_reduce->value /= learners;
}

static std::optional<double> of_bits(const TheoryRow& row, double PlannedBits::*which) {
  if (!row.bits) return {};
  return *row.bits.*which;
}

CsvFile<TheoryRow> theory_table(const std::vector<std::string>& swept) {
  using Row = TheoryRow;
  std::vector<CsvColumn<Row>> columns{
      {"point", "", "its number, from 0", &Row::point},
      {"protocol", "", "its kind", [](auto& row) { return row.at.protocol_name; }},
      {"learners", "learners", "P", &Row::learners},
      {"k", "gradients", k_meaning, &Row::k},
      {"theory_iteration_time", "time", "between updates in the long run",
       [](auto& row) { return row.theory.iteration_time; }},
      {"theory_basis", "", "of it: exact, upper or lower (a bound), or approximate",
       [](auto& row) { return basis_of(row.theory.iteration_time); }},
      {"theory_staleness", "updates", "mean over applied gradients",
       [](auto& row) { return row.theory.staleness; }},
      {"speedup_over_sync",
       "",
       {"how many times as many updates as sync makes", "E[T] of sync / theory_iteration_time"},
       &Row::speedup},
      {"speedup_basis", "", "of it", [](auto& row) { return basis_of(row.speedup); }},
      {"error_floor", "", "exact loss that a long run at one learning rate settles at",
       &Row::error_floor}};
  add_swept(columns, swept);
  const CsvColumn<Row> last[] = {
      {"theory_fresh",
       "fraction",
       {"of gradients that are of the current version", "P(staleness = 0)"},
       &Row::fresh},
      {"fresh_basis", "", "of it", [](auto& row) { return basis_of(row.fresh); }},
      {"error_floor_bound", "", "by Lemma 2 or (gamma) Theorem 3 of Dutta et al., AISTATS 2018",
       &Row::error_floor_bound},
      {"stable_eta", "",
       "largest learning rate, after its scale, at which the mean loss is bounded; empty where "
       "rates depend on staleness",
       &Row::stable_eta},
      {"stable_eta_basis", "", "of it", [](auto& row) { return basis_of(row.stable_eta); }},
      {"ageing", "", "whether a new minibatch takes longer than the rest of a used one",
       &Row::ageing},
      {"sync_over_async",
       "",
       {"iteration time of sync over that of async", "P E[X_{P:P}] / E[X]"},
       &Row::sync_over_async},
      {"waiting_over_working",
       "",
       {"iteration time of k-sync over that of k-batch-async (a server)",
        "P E[X_{K:P}] / (K E[X])"},
       &Row::waiting_over_working},
      {"largest_bounded_eta", "", "largest learning rate that error_floor_bound allows",
       &Row::largest_bounded_eta},
      {"exchange_time", "time", "of a learner's exchange, where all take the same",
       [](auto& row) { return row.theory.exchange_time; }},
      {"hiding_delay",
       "minibatches",
       {"whose mean time covers that of a collective that may come late (local-sgd, dasgd)",
        "ceil(exchange_time / E[X])"},
       &Row::hiding_delay},
      {"speedup_over_all_reduce", "", "minibatches in the time in which all-reduce makes one",
       &Row::over_all_reduce},
      {"all_reduce_basis", "", "of it", [](auto& row) { return basis_of(row.over_all_reduce); }},
      {"spectral_gap",
       "",
       {"of the mixing matrix W (its mean; of a cycle: static groups)", "1 - |lambda_2(W)|"},
       &Row::spectral_gap},
      {"rho",
       "",
       {"part of the squared disagreement that an average, or a cycle, leaves at most (in the "
        "mean)",
        "an eigenvalue of E[W^T W]"},
       &Row::rho},
      {"theory_disagreement", "", "in the long run, mean over updates (quadratic)",
       &Row::disagreement},
      {"message_bytes", "bytes", "of a gradient, compressed", &Row::message_bytes},
      {"message_error", "", Meaning("of a message, at most", "E||C(v) - v||^2 / ||v||^2"),
       &Row::message_error},
      {"gather_break_even",
       "learners",
       {"from which a ring of whole gradients takes less than a gather of messages",
        "8 d / message_bytes"},
       &Row::gather_break_even},
      {"bits_first", "bits",
       "of a number by mean_bits (dq-sgd) in the first step, planned where the norm stays",
       [](auto& row) { return of_bits(row, &PlannedBits::first); }},
      {"bits_last", "bits",
       "of a number by mean_bits (dq-sgd) in the last step, planned where the norm stays",
       [](auto& row) { return of_bits(row, &PlannedBits::last); }},
      {"bits_saved", "bits",
       "a number, by which one number of bits for all steps is more for the same error, planned "
       "where "
       "the norm stays",
       [](auto& row) { return of_bits(row, &PlannedBits::saved); }},
      {"not_known", "", "what is empty among iteration time and staleness, and why",
       &Row::not_known}};
  columns.insert(columns.end(), std::begin(last), std::end(last));
  return {"gradrace theory", "one point", std::move(columns)};
}

const CsvFile<ErrorCurveRow> theory_csv{
    "theory.csv",
    "one number of updates of a curve that theory knows, of a quadratic",
    {{"point", "", "its number, from 0", &ErrorCurveRow::point, Role::run},
     {"time", "time", "mean time at which so many updates are made", &ErrorCurveRow::time,
      Role::theory},
     {"loss", "", "mean loss then, or its bound", &ErrorCurveRow::loss, Role::theory},
     {"basis", "", "exact, upper, lower or approximate",
      [](auto& row) { return std::optional(row.basis); }, Role::theory},
     {"source", "", "second moments, or a result of Dutta et al., 2018", &ErrorCurveRow::source,
      Role::theory},
     {"update", "updates", "made", &ErrorCurveRow::update, Role::theory},
     {"mean_squared_gradient",
      "",
      {"of the mean over all updates so far, or its bound", "1/n sum over updates of |grad F|^2"},
      &ErrorCurveRow::squared_gradient,
      Role::theory}}};

std::vector<ErrorCurveRow> error_curve_rows(const Scenario& scenario,
                                            const std::vector<Theory>& theories) {
  std::vector<ErrorCurveRow> rows;
  for (std::size_t point = 0; point < scenario.points.size(); ++point) {
    const auto descent = scenario.points[point].descent(theories[point]);
    if (!descent) continue;
    for (const auto& curve : error_curves(*descent)) {
      for (std::size_t i = 0; i < curve.updates.size(); ++i) {
        auto& row = rows.emplace_back(ErrorCurveRow{
            point, curve.times[i], {}, curve.basis, curve.source, curve.updates[i], {}});
        (curve.of == ErrorCurve::Of::loss ? row.loss : row.squared_gradient) = curve.values[i];
      }
    }
  }
  return rows;
}

}  // namespace gradrace
