#include "sim/cli/results/run_files.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/hash.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

double ratio(double sum, std::uint64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : not_known;
}

constexpr std::string_view loss_formula = "1/n sum over rows of the loss + regulariser",
                           error_formula = "wrong answers / rows";

/// A loss that is NaN is a result, not an empty field.
std::optional<OrNan> loss_of(double loss, bool with_model) {
  return with_model || !std::isnan(loss) ? std::optional(OrNan{loss}) : std::nullopt;
}

std::optional<std::uint64_t> count_if(bool known, std::uint64_t count) {
  return known ? std::optional(count) : std::nullopt;
}

std::string_view status_of(const RunRow& run) {
  constexpr std::string_view names[] = {"finished", "diverged", "interrupted", "deadlocked",
                                        "failed"};
  return names[static_cast<std::size_t>(run.summary.status)];
}

std::string hash_of(const RunRow& run) {
  const bool known = run.at.with_model() && run.summary.status == Status::finished;
  return known ? hex_text(run.result.hash) : "";
}

/// exchanged(row): pointer to its ExchangeTotals; null: not known.
template <class Values, class Exchanged>
void add_exchange_columns(std::vector<CsvColumn<Values>>& columns, Exchanged exchanged,
                          bool with_times) {
  for (const ExchangeColumn& its : exchange_columns) {
    if (!its.counted && !with_times) continue;
    columns.emplace_back(
        its.name, its.unit, its.meaning,
        [&its, exchanged](auto& row) -> std::optional<double> {
          const ExchangeTotals* const totals = exchanged(row);
          if (!totals || (its.counted && !(row.counted.*its.counted))) return {};
          return totals->*its.of;
        },
        its.counted ? Role::count : Role::result);
  }
}

void add_compression_columns(std::vector<CsvColumn<RunRow>>& columns) {
  const auto add = [&](const char* name, const char* unit, Meaning meaning, Role role, auto of) {
    columns.emplace_back(
        name, unit, meaning,
        [of](auto& run) -> std::optional<double> {
          if (!run.counted.bytes || !run.at.with_compression() || !run.result.exchanged) return {};
          return of(run, *run.result.exchanged);
        },
        role);
  };
  add("bits_per_coordinate", "bits",
      {"of a number of a gradient's message, scales and places included",
       "8 bytes of it / (model_bytes / 4)"},
      Role::result, [](auto& run, const ExchangeTotals& all) -> std::optional<double> {
        if (run.message_bits) return run.message_bits;
        const double mean = 8 * all.sent / (all.messages * run.at.numbers_sent());
        if (!run.at.cluster.peers) return mean;
        if (!run.at.bytes_vary() || run.at.compressed_from > 0) return {};
        return mean * run.at.make_protocol()->traits().parts;
      });
  add("bytes_pushed", "bytes", "of messages to the server, or to other learners", Role::count,
      [](auto&, const ExchangeTotals& all) { return all.sent; });
  add("bytes_pulled", "bytes",
      "of models, or updates as messages, from the server, or of messages of other learners",
      Role::count, [](auto&, const ExchangeTotals& all) { return all.received; });
}

void add_failure_columns(std::vector<CsvColumn<RunRow>>& columns) {
  const auto add = [&](const char* name, const char* unit, Meaning meaning, Role role, auto of) {
    columns.emplace_back(
        name, unit, meaning,
        [of](auto& run) -> std::optional<double> {
          if (!run.result.failures) return {};
          return of(run, *run.result.failures);
        },
        role);
  };
  add("goodput", "fraction",
      {"of minibatches that have ended, those whose gradients are in the model at the end",
       "gradients_applied / (applied + dropped + cancelled + lost)"},
      Role::result, [](auto& run, auto&) {
        const Totals& made = run.result.totals;
        const std::uint64_t ended = made.applied + made.dropped + made.cancelled + made.lost;
        return ratio(static_cast<double>(made.applied), ended);
      });
  add("effective_time", "fraction",
      {"of the learners' time, in which they computed what was not wasted",
       "sum over learners of busy - wasted / (P sim_time)"},
      Role::result, [](auto& run, auto& costs) {
        return costs.useful / (run.at.cluster.learners * run.result.totals.time);
      });
  add("mean_members", "learners",
      {"up, mean over time", "P - sum over learners of down / sim_time"}, Role::result,
      [](auto& run, auto&) {
        const double down = run.result.exchanged ? run.result.exchanged->down : 0;
        return run.at.cluster.learners - down / run.result.totals.time;
      });
  const auto add_lost = [&](const char* name, const char* meaning, std::uint64_t Losses::*of) {
    add(name, "minibatches", meaning, Role::count, [of](auto& run, auto& costs) {
      const bool server = run.at.make_protocol().has_server();
      return server ? not_known : static_cast<double>(costs.losses.*of);
    });
  };
  add_lost("lost_computing", "of gradients_lost, under way when a learner failed",
           &Losses::computing);
  add_lost("lost_unused", "of them, done and not yet used", &Losses::unused);
  add_lost("lost_taken_back", "of them, used since the checkpoint that all went back to",
           &Losses::taken_back);
}

bool has_coordinator(const Point& point) {
  return point.make_protocol()->traits().exchange == Traits::Exchange::with_coordinator;
}

void add_outer_columns(std::vector<CsvColumn<RunRow>>& columns) {
  const auto add = [&](const char* name, Meaning meaning, Role role, auto of) {
    columns.emplace_back(
        name, "updates", meaning,
        [of](auto& run) -> std::optional<double> {
          if (!run.result.outer) return {};
          return of(*run.result.outer);
        },
        role);
  };
  constexpr std::string_view staleness =
      "how many outer updates were made between a learner's read of the coordinator's model and "
      "the one that it brought";
  add("outer_updates", "of the coordinator's model (async-local-sgd)", Role::count,
      [](const OuterUpdates& made) { return static_cast<double>(made.updates); });
  add("mean_outer_staleness", {staleness, "sum of it / outer_updates"}, Role::result,
      [](const OuterUpdates& made) {
        return ratio(static_cast<double>(made.staleness_sum), made.updates);
      });
  add("max_outer_staleness", staleness, Role::result,
      [](const OuterUpdates& made) { return static_cast<double>(made.max_staleness); });
}

/// Whether a run has it that failed.
bool is_of_all_runs(const Column& column) {
  return column.role == Role::run || column.role == Role::setting || column.role == Role::theory;
}

void leave_out_where_failed(CsvColumn<RunRow>& column) {
  if (!column.add) return;
  column.add = [add = column.add](std::string& cells, const RunRow& run) {
    if (run.result.status == Status::failed) return add_cell(cells, {});
    add(cells, run);
  };
}

CsvFile<LearnerRow> make_learners_csv(LearnerColumns more) {
  std::vector<CsvColumn<LearnerRow>> columns{
      {"point", point_meaning},
      {"replica", replica_meaning},
      {"learner", "", "its number, from 0", &LearnerRow::learner, Role::run},
      {"busy", "time", "in which it computed", &LearnerRow::busy},
      {"idle",
       "time",
       {"in which it did not", "sim_time - busy"},
       [](auto& row) { return std::fmax(0.0, row.end - row.busy); }},
      {"wasted", "time",
       "busy with gradients cancelled, dropped or lost (gradients_... of runs.csv)",
       &LearnerRow::wasted},
      {"gradients", "minibatches", "applied", &LearnerRow::gradients, Role::count}};
  add_exchange_columns(
      columns, [](auto& row) { return &row.exchanged; }, true);
  if (more.encoding) {
    columns.emplace_back("encoding", "time",
                         "idle, making or reading messages (encode and decode of compression)",
                         [](auto& row) { return row.exchanged.encoding; });
  }
  if (more.unused) {
    columns.emplace_back("gradients_dropped", "minibatches",
                         "computed, and thrown away by the server as too stale",
                         &LearnerRow::dropped, Role::count);
    columns.emplace_back("longest_unused", "time",
                         "the longest in which none of its gradients entered an update",
                         &LearnerRow::longest_unused);
  }
  return {"learners.csv", "one learner of a run", std::move(columns)};
}

CsvFile<CurveRow> make_curve_csv(const CurveColumns& more) {
  std::vector<CsvColumn<CurveRow>> columns{
      {"point", point_meaning},
      {"replica", replica_meaning},
      {"time", "time", "simulated", &CurveRow::time},
      {"update", "updates", "made before it", &CurveRow::update, Role::count},
      {"gradients", "minibatches", "applied before it", &CurveRow::gradients, Role::count},
      {"epoch",
       "epochs",
       {"passes over the training set", "samples applied / training rows"},
       &CurveRow::epoch},
      {"loss",
       "",
       {"training objective, regulariser included", loss_formula},
       [](auto& row) { return loss_of(row.loss, row.with_model); }},
      {"test_loss",
       "",
       {"loss on the test set, regulariser included", loss_formula},
       &CurveRow::test_loss},
      {"test_error",
       "fraction",
       {"of wrong answers on the test set", error_formula},
       &CurveRow::test_error},
      {"learning_rate", "", "of a fresh gradient", &CurveRow::learning_rate},
      {"k", "gradients", k_meaning, &CurveRow::k},
      {"disagreement",
       "",
       {"of learners that have values of their own", "1/P sum over i of ||x_i - mean||^2"},
       &CurveRow::disagreement}};
  if (more.by_learner) {
    columns.emplace_back("learner", "",
                         "whose value the row is of; empty: the mean (with record.evaluate each)",
                         &CurveRow::learner, Role::run);
  }
  if (more.compressed) {
    columns.emplace_back("compression_error", "",
                         Meaning("of messages, mean over those since the evaluation before",
                                 "||C(p) - p||^2 / ||p||^2, p what is sent by the message C(p)"),
                         &CurveRow::compression_error);
    columns.emplace_back("bytes", "bytes",
                         Meaning("of messages and models, of all learners, begun before it",
                                 "bytes_pushed + bytes_pulled of runs.csv, so far"),
                         &CurveRow::bytes, Role::count);
    columns.emplace_back(
        "bits", "bits",
        Meaning("of a number of a message by the code in force, where codes change "
                "from step to step",
                "8 bytes of it / (model_bytes / 4)"),
        &CurveRow::bits);
  }
  if (more.members) columns.emplace_back("members", "learners", "that are up", &CurveRow::members);
  if (more.gap)
    columns.emplace_back("duality_gap", "",
                         Meaning("of cocoa: how far the loss is from the least one, at most",
                                 "loss - D(alpha), of model svm"),
                         &CurveRow::duality_gap);
  return {"curve.csv", "one evaluation of a run", std::move(columns)};
}

}  // namespace

RunSummary summary_of(const Point& point, const RunResult& result) {
  const Totals& totals = result.totals;
  const std::uint64_t parts = totals.applied * point.versions();
  const double time = totals.time > 0 ? totals.time : not_known;
  return {.status = result.status,
          .iteration_time = ratio(totals.last_update_time, totals.updates),
          .staleness = ratio(static_cast<double>(totals.staleness_sum), parts),
          .loss = result.last.evaluation.loss,
          .test_error = result.last.evaluation.test_error,
          .pace = static_cast<double>(totals.applied) / time,
          .target_times = result.target_times,
          .target_intervals = result.target_intervals,
          .totals = result.totals};
}

CountedExchanges counted_exchanges(const Point& point) {
  const auto protocol = point.make_protocol();
  if (protocol.has_server()) {
    const auto& links = point.cluster.transit.network;
    return {.bytes = links && links->carries()};
  }
  const auto& network = point.cluster.peers;
  return {.bytes = network && network->model_bytes > 0,
          .messages = network.has_value(),
          .conflicts = protocol->traits().asks_for_groups};
}

std::optional<double> message_bits(const Point& point) {
  const bool alike = point.with_compression() && !point.codes() && !point.bytes_vary() &&
                     point.compressed_from == 0;
  if (!alike || !counted_exchanges(point).bytes) return {};
  const double numbers = point.numbers_sent();
  return 8 * point.compressor()->bytes(numbers) / numbers;
}

std::vector<std::string> swept_names(std::vector<std::string> paths) {
  std::ranges::replace(paths, "protocol", "sweep.protocol");
  return paths;
}

RunColumns run_columns(const Scenario& scenario) {
  return {.compressed = scenario.first().with_compression(),
          .failures = std::ranges::any_of(scenario.points, &Point::tells_failures),
          .outer = std::ranges::any_of(scenario.points, has_coordinator)};
}

CsvFile<RunRow> runs_csv(const std::vector<std::string>& swept, const std::vector<Target>& targets,
                         RunColumns more) {
  using R = RunRow;
  std::vector<CsvColumn<R>> columns{
      {"point", point_meaning},
      {"replica", replica_meaning},
      {"seed", "", "of the scenario; with replica it names the run's random numbers",
       [](auto& run) { return run.at.seed; }, Role::run},
      {"protocol", "", "its kind", [](auto& run) { return run.at.protocol_name; }, Role::run},
      {"learners", "learners", "P", [](auto& run) { return run.at.cluster.learners; }, Role::run},
      {"k", "gradients", k_meaning, [](auto& run) { return run.result.last.point.k; }},
      {"status", "",
       "finished; diverged: its loss was infinite or NaN; deadlocked: learners waited for "
       "each other in a circle; failed: it could not go on (reason says why)",
       status_of, Role::run},
      {"updates", "updates", "made", [](auto& run) { return run.result.totals.updates; },
       Role::count},
      {"gradients_applied", "minibatches", "whose gradient entered an update",
       [](auto& run) { return run.result.totals.applied; }, Role::count},
      {"gradients_dropped", "minibatches",
       "computed to the end, and thrown away by the server as too late",
       [](auto& run) { return run.result.totals.dropped; }, Role::count},
      {"gradients_cancelled", "minibatches",
       "stopped before they were done, since an update did without them",
       [](auto& run) { return run.result.totals.cancelled; }, Role::count},
      {"sim_time", "time", "at which the run ended",
       [](auto& run) { return run.result.totals.time; }},
      {"mean_iteration_time",
       "time",
       {"between updates, cold start included", "time of the last update / updates"},
       [](auto& run) { return run.summary.iteration_time; }},
      {"mean_staleness",
       "updates",
       {staleness_meaning, "sum of staleness / gradients_applied, mean over their parts"},
       [](auto& run) { return run.summary.staleness; }},
      {"max_staleness", "updates", staleness_meaning,
       [](auto& run) {
         const Totals& totals = run.result.totals;
         return count_if(totals.applied > 0, totals.max_staleness);
       }},
      {"final_loss",
       "",
       {"training objective, regulariser included", loss_formula},
       [](auto& run) { return loss_of(run.summary.loss, run.at.with_model()); }},
      {"final_test_error",
       "fraction",
       {"of wrong answers on the test set", error_formula},
       [](auto& run) { return run.summary.test_error; }},
      {"theory_iteration_time",
       "time",
       {"between updates in the long run, where it is known", "E[T] of the protocol"},
       [](auto& run) { return run.theory.iteration_time; },
       Role::theory},
      {"theory_basis", "", "of theory_iteration_time: exact, upper, lower or approximate",
       [](auto& run) { return basis_of(run.theory.iteration_time); }, Role::theory}};
  add_swept(columns, swept);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    columns.emplace_back(
        targets[i].column, "time",
        "at which the first evaluation was at that level or below "
        "(resolution_of_... says how much too late that may be)",
        [i](auto& run) { return run.summary.target_times[i]; }, Role::target);
  }
  columns.emplace_back(
      "gradients_computed", "minibatches", "for which a forward and a backward pass was made",
      [](auto& run) { return count_if(run.at.with_model(), run.result.gradients_computed); },
      Role::count);
  columns.emplace_back("final_hash", "", "of the parameters", hash_of);
  columns.emplace_back(
      "gradients_lost", "minibatches",
      "in the hands of a learner when it failed, or made since the checkpoint that all went back "
      "to "
      "(cluster.failures)",
      [](auto& run) { return run.result.totals.lost; }, Role::count);
  columns.emplace_back(
      "label", "", "name of the point among the others",
      [](auto& run) { return run.at.label.text(); }, Role::run);
  add_exchange_columns(
      columns, [](auto& run) { return run.result.exchanged ? &*run.result.exchanged : nullptr; },
      false);
  columns.emplace_back(
      "reason", "", "why a run could not go on", [](auto& run) { return run.result.reason; },
      Role::run);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    columns.emplace_back(
        targets[i].resolution, "time",
        Meaning("by how much that may be late: the time since the evaluation before",
                "its time - that of the evaluation before"),
        [i](auto& run) { return run.summary.target_intervals[i]; }, Role::target);
  }
  const auto add_utilisation = [&](const char* name, const char* meaning, double Utilisation::*of) {
    columns.emplace_back(name, "fraction", meaning, [of](auto& run) -> std::optional<double> {
      if (!run.result.utilisation) return {};
      return (*run.result.utilisation).*of;
    });
  };
  add_utilisation("link_utilisation",
                  "of sim_time in which the server's link (cluster.network.bandwidth) was busy, in "
                  "its busier direction; while cards hold all transfers back, the share of it that "
                  "they take",
                  &Utilisation::link);
  add_utilisation("server_utilisation",
                  "of sim_time in which the server itself (cluster.server) was busy",
                  &Utilisation::server);
  if (more.compressed) add_compression_columns(columns);
  if (more.failures) add_failure_columns(columns);
  if (more.outer) add_outer_columns(columns);
  for (auto& column : columns) {
    if (!is_of_all_runs(column)) leave_out_where_failed(column);
  }
  return {"runs.csv", "one run, a replica of a point", std::move(columns)};
}

const CsvFile<CurveRow>& curve_csv(CurveColumns columns) {
  static const auto files = [] {
    std::vector<CsvFile<CurveRow>> made;
    for (int i = 0; i < 16; ++i)
      made.push_back(make_curve_csv({i % 2 > 0, i / 2 % 2 > 0, i / 4 % 2 > 0, i / 8 > 0}));
    return made;
  }();
  const int which =
      columns.by_learner + 2 * columns.compressed + 4 * columns.members + 8 * columns.gap;
  return files[static_cast<std::size_t>(which)];
}

const CsvFile<CurveRow>& curve_csv(const Point& point) {
  return curve_csv({.by_learner = point.evaluated == EvaluatedValue::each,
                    .compressed = point.with_compression(),
                    .members = point.curve_has_members,
                    .gap = point.curve_has_gap});
}

const CsvFile<StalenessRow> staleness_csv{
    "staleness.csv",
    "one staleness that occurs in a run",
    {{"point", point_meaning},
     {"replica", replica_meaning},
     {"staleness", "updates", staleness_meaning, &StalenessRow::staleness},
     {"count", "minibatches", "applied with it, or their parts", &StalenessRow::count,
      Role::count}}};

const CsvFile<LearnerRow>& learners_csv(LearnerColumns columns) {
  static const CsvFile<LearnerRow> files[] = {
      make_learners_csv({false, false}), make_learners_csv({true, false}),
      make_learners_csv({false, true}), make_learners_csv({true, true})};
  return files[columns.encoding + 2 * columns.unused];
}

Target target_of(std::string_view of, const std::string& level) {
  const std::string column = (of == "loss" ? "time_to_loss_" : "time_to_error_") + level;
  return {of, not_known, column, "resolution_of_" + column};
}

std::vector<Target> targets_of(const Point& point) {
  std::vector<Target> targets;
  if (!point.with_model()) return targets;
  const auto add = [&](std::string_view of, const std::vector<double>& levels) {
    for (const double level : levels)
      targets.push_back(target_of(of, number_text(level))), targets.back().level = level;
  };
  add("loss", point.target_loss);
  add("test_error", point.target_test_error);
  return targets;
}

}  // namespace gradrace
