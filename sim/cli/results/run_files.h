#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/cli/results/csv_file.h"
#include "sim/cli/results/run_result.h"
#include "sim/cli/scenario/record.h"
#include "sim/cli/scenario/scenario.h"
#include "sim/results/target.h"

namespace gradrace {

/// What the closing table needs of one run; NaN where not applicable.
struct RunSummary {
  Status status = Status::interrupted;
  double iteration_time, staleness, loss, test_error;
  double pace;                       // gradients applied, per unit of time
  std::vector<double> target_times;  // NaN: not reached; in the order of targets_of()
  std::vector<double> target_intervals;
  Totals totals;
};

RunSummary summary_of(const Point& point, const RunResult& result);

/// What is counted of the exchanges of a point's runs; the columns of the rest are empty, as they
/// would say 0 of what is not known or cannot be.
struct CountedExchanges {
  bool bytes = false, messages = false;  // not without a network, nor bytes of messages of no size
  bool conflicts = false;                // not where nobody asks for groups
};
CountedExchanges counted_exchanges(const Point& point);
/// Of a number of a message; empty where that is told by runs, or not known.
std::optional<double> message_bits(const Point& point);

/// A number of ExchangeTotals and the column that has it; of learners.csv and, where it is counted,
/// of runs.csv too.
struct ExchangeColumn {
  double ExchangeTotals::*of;
  const char *name, *unit;
  Meaning meaning;
  bool CountedExchanges::*counted = nullptr;  // null: a time
};

/// All of them, in the order of columns and of a store.
inline constexpr ExchangeColumn exchange_columns[] = {
    {&ExchangeTotals::communicating, "communicating", "time",
     "idle, in an exchange with other learners or with the server"},
    {&ExchangeTotals::waiting,
     "waiting",
     "time",
     {"idle, up and in no exchange: for other learners, or for the server",
      "idle - communicating - down (- encoding)"}},
    {&ExchangeTotals::hidden, "hidden", "time", "busy, in an exchange meanwhile"},
    {&ExchangeTotals::sent, "bytes_sent", "bytes",
     "pushed to the server or sent to other learners, where the network has "
     "model_bytes; of exchanges begun",
     &CountedExchanges::bytes},
    {&ExchangeTotals::received, "bytes_received", "bytes",
     "pulled from the server or sent by other learners, likewise", &CountedExchanges::bytes},
    {&ExchangeTotals::messages, "messages", "messages",
     "sent, without a server, where there is a network", &CountedExchanges::messages},
    {&ExchangeTotals::conflicts, "conflicts", "requests",
     "for a group whose members were in another (ripples)", &CountedExchanges::conflicts},
    {&ExchangeTotals::down, "down", "time", "failed, and not back (cluster.failures)"}};

struct RunRow {
  const Point& at;
  const Theory& theory;
  const RunResult& result;
  RunSummary summary;
  CountedExchanges counted;
  std::optional<double> message_bits = {};
};

struct CurveRow : EvaluationPoint, Evaluation {
  bool with_model;
  std::optional<std::size_t> learner = {};  // whose value it looks at; empty: the run's
};

struct StalenessRow {
  std::size_t staleness;
  std::uint64_t count;
};

struct LearnerRow : LearnerTotals {
  std::size_t learner;
  double end;  // of the run
  CountedExchanges counted;
};

/// Columns of several files.
constexpr std::string_view point_meaning = "its number, from 0; the first swept path is slowest",
                           replica_meaning = "number of the run among those of its point, from 0",
                           staleness_meaning =
                               "how many updates were made between a gradient's read of the model "
                               "and its use; without a server changes of the learner's own model; "
                               "with cluster.server.versions each those of its shard, part by part",
                           k_meaning =
                               "K in force, of an update; without a server P where an update is a "
                               "step of every learner, 1 where it is a step of one";

/// Columns of runs.csv that some scenarios have.
struct RunColumns {
  bool compressed = false;  // there is compression
  bool failures = false;    // their costs are told
  bool outer = false;       // there is a coordinator
};
/// Of the scenario's points.
RunColumns run_columns(const Scenario& scenario);

/// swept: the paths of the sweep; targets: targets_of() the first point.
CsvFile<RunRow> runs_csv(const std::vector<std::string>& swept, const std::vector<Target>& targets,
                         RunColumns more);
/// Columns of curve.csv that some scenarios have.
struct CurveColumns {
  bool by_learner = false;  // with the rows of each learner's value
  bool compressed = false;  // there is compression
  bool members = false;     // it is said how failures are met
  bool gap = false;         // a protocol makes dual ascent
};
const CsvFile<CurveRow>& curve_csv(CurveColumns columns);
/// Of the scenario's points, which all have such rows if one has.
const CsvFile<CurveRow>& curve_csv(const Point& point);
extern const CsvFile<StalenessRow> staleness_csv;
const CsvFile<LearnerRow>& learners_csv(LearnerColumns columns);

/// The columns of swept paths, each named as the path, but `sweep.protocol` where whole protocols
/// are swept, since `protocol` is the column of its name.
std::vector<std::string> swept_names(std::vector<std::string> paths);
template <class Values>
void add_swept(std::vector<CsvColumn<Values>>& columns, const std::vector<std::string>& paths) {
  const auto names = swept_names(paths);
  for (std::size_t i = 0; i < names.size(); ++i) {
    columns.emplace_back(
        names[i], "", "value of a swept path at the point",
        [i](const Values& row) { return row.at.settings[i].cell(); }, Role::setting);
  }
}

/// The targets of a point, in order: losses, then test errors.
std::vector<Target> targets_of(const Point& point);
/// How the columns of one are named; level: in digits.
Target target_of(std::string_view of, const std::string& level);

}  // namespace gradrace
