#include "sim/cli/results/results_writer.h"

#include <cmath>
#include <limits>

#include "sim/cli/results/csv.h"
#include "sim/hash.h"

namespace gradrace {

namespace {

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

const char* status_name(Status status) {
  switch (status) {
    case Status::finished:
      return "finished";
    case Status::diverged:
      return "diverged";
    case Status::interrupted:
      return "interrupted";
  }
  return "";
}

/// A loss that is no number is a result, not an empty field.
std::string loss_text(double loss, bool with_model) {
  return with_model && std::isnan(loss) ? "nan" : number_text(loss);
}

double ratio(double sum, std::uint64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : not_known;
}

std::string curve_rows(std::size_t point, std::uint32_t replica, const RunRecord& record,
                       bool with_model) {
  Csv csv;
  for (const auto& [at, evaluation] : record.curve) {
    csv.row(point, replica, at.time, at.update, at.gradients, at.epoch,
            loss_text(evaluation.loss, with_model), evaluation.test_loss, evaluation.test_error,
            at.learning_rate, at.k);
  }
  return csv.text();
}

std::string staleness_rows(std::size_t point, std::uint32_t replica, const RunRecord& record) {
  Csv csv;
  for (std::size_t staleness = 0; staleness < record.staleness_counts.size(); ++staleness) {
    const auto count = record.staleness_counts[staleness];
    if (count > 0) csv.row(point, replica, staleness, count);
  }
  return csv.text();
}

std::string learner_rows(std::size_t point, std::uint32_t replica, const RunRecord& record) {
  Csv csv;
  for (std::size_t i = 0; i < record.learners.size(); ++i) {
    const auto& learner = record.learners[i];
    csv.row(point, replica, i, learner.busy, std::fmax(0.0, record.totals.time - learner.busy),
            learner.wasted, learner.gradients);
  }
  return csv.text();
}

double first_time(const RunRecord& record, double Evaluation::*what, double target) {
  for (const auto& [at, evaluation] : record.curve) {
    if (evaluation.*what <= target) return at.time;
  }
  return not_known;
}

}  // namespace

const char* basis_name(Basis basis) {
  switch (basis) {
    case Basis::exact:
      return "exact";
    case Basis::upper:
      return "upper";
    case Basis::lower:
      return "lower";
    case Basis::approximate:
      return "approximate";
  }
  return "";
}

void add_estimate(Csv& csv, const std::optional<Estimate>& estimate) {
  csv.cell(estimate ? estimate->value : not_known);
  csv.cell(std::string_view(estimate ? basis_name(estimate->basis) : ""));
}

RunRecorders::RunRecorders(const Scenario& scenario, std::size_t point, std::uint32_t replica) {
  const Point& at = scenario.points[point];
  if (at.record_updates) observers.add(&updates.emplace(point, replica));
  if (at.record_trace && replica == 0) {
    observers.add(&trace.emplace(point, at.label, at.cluster.learners, at.trace_updates));
  }
}

std::string swept_column(const std::string& path) {
  return path == "protocol" ? "sweep.protocol" : path;
}

std::vector<std::string> target_columns(const Point& point) {
  std::vector<std::string> columns;
  if (!point.with_model()) return columns;
  for (const double x : point.target_loss) columns.push_back("time_to_loss_" + number_text(x));
  for (const double x : point.target_test_error)
    columns.push_back("time_to_error_" + number_text(x));
  return columns;
}

ResultsWriter::ResultsWriter(const Scenario& scenario, std::vector<Theory> theories,
                             OutputFolder& folder)
    : scenario_(scenario),
      theories_(std::move(theories)),
      folder_(folder),
      summaries_(scenario.points.size() * scenario.first().replicas) {
  Csv header;
  for (const char* column :
       {"point", "replica", "seed", "protocol", "learners", "k", "status", "updates",
        "gradients_applied", "gradients_dropped", "gradients_cancelled", "sim_time",
        "mean_iteration_time", "mean_staleness", "max_staleness", "final_loss", "final_test_error",
        "theory_iteration_time", "theory_basis"}) {
    header.cell(std::string_view(column));
  }
  for (const auto& path : scenario.swept_paths) header.cell(swept_column(path));
  for (const auto& column : target_columns(scenario.first())) header.cell(column);
  header.row("gradients_computed", "final_hash", "gradients_lost");
  folder_.append("runs.csv", header.text());
  if (scenario.first().record_details) {
    folder_.append(
        "curve.csv",
        "point,replica,time,update,gradients,epoch,loss,test_loss,test_error,learning_rate,k\n");
    folder_.append("staleness.csv", "point,replica,staleness,count\n");
    folder_.append("learners.csv", "point,replica,learner,busy,idle,wasted,gradients\n");
  }
  if (scenario.first().record_updates) {
    folder_.append("updates.csv", std::string(UpdatesRecorder::header) + "\n");
  }
  if (scenario.first().record_trace) {
    folder_.append("trace.json", "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  }
}

void ResultsWriter::add(std::size_t run, RunRecord record, const RunRecorders& recorders) {
  const std::size_t point = run / scenario_.first().replicas;
  const auto replica = static_cast<std::uint32_t>(run % scenario_.first().replicas);
  const bool with_model = scenario_.points[point].with_model();
  summaries_[run] = summarise(scenario_.points[point], record);
  replays_.add(scenario_.points[point].cluster, record.learners);
  Texts texts;
  texts.files["runs.csv"] = runs_row(run, record, summaries_[run]);
  if (scenario_.first().record_details) {
    texts.files["curve.csv"] = curve_rows(point, replica, record, with_model);
    texts.files["staleness.csv"] = staleness_rows(point, replica, record);
    texts.files["learners.csv"] = learner_rows(point, replica, record);
  }
  if (recorders.updates) texts.files["updates.csv"] = recorders.updates->rows();
  if (recorders.trace) texts.files["trace.json"] = recorders.trace->events();
  early_.emplace(run, std::move(texts));
  while (!early_.empty() && early_.begin()->first == next_) {
    write(early_.begin()->second);
    early_.erase(early_.begin());
    ++next_;
  }
}

void ResultsWriter::write(const Texts& texts) {
  for (const auto& [file, text] : texts.files) {
    if (file == "trace.json") {
      folder_.append(file, traced_ ? ",\n" : "");
      traced_ = true;
    }
    folder_.append(file, text);
  }
}

void ResultsWriter::finish() {
  for (const auto& [run, texts] : early_) write(texts);
  early_.clear();
  if (scenario_.first().record_trace) folder_.append("trace.json", "\n]}\n");
}

RunSummary ResultsWriter::summarise(const Point& point, const RunRecord& record) const {
  const Totals& totals = record.totals;
  RunSummary summary;
  summary.status = record.status;
  summary.iteration_time = ratio(totals.last_update_time, totals.updates);
  summary.staleness = ratio(static_cast<double>(totals.staleness_sum), totals.applied);
  const Evaluation last = record.curve.empty() ? Evaluation{} : record.curve.back().evaluation;
  summary.loss = last.loss;
  summary.test_error = last.test_error;
  if (!point.with_model()) return summary;
  for (const double x : point.target_loss) {
    summary.target_times.push_back(first_time(record, &Evaluation::loss, x));
  }
  for (const double x : point.target_test_error) {
    summary.target_times.push_back(first_time(record, &Evaluation::test_error, x));
  }
  return summary;
}

std::string ResultsWriter::runs_row(std::size_t run, const RunRecord& record,
                                    const RunSummary& summary) const {
  const std::size_t number = run / scenario_.first().replicas;
  const Point& point = scenario_.points[number];
  const Theory& theory = theories_[number];
  const Totals& totals = record.totals;
  Csv csv;
  for (const std::size_t cell : {number, run % scenario_.first().replicas}) csv.cell(cell);
  csv.cell(point.seed);
  csv.cell(point.protocol_name);
  csv.cell(point.cluster.learners);
  csv.cell(record.curve.empty() ? 0u : record.curve.back().point.k);
  csv.cell(std::string_view(status_name(record.status)));
  for (const auto count : {totals.updates, totals.applied, totals.dropped, totals.cancelled}) {
    csv.cell(count);
  }
  csv.cell(totals.time);
  csv.cell(summary.iteration_time);
  csv.cell(summary.staleness);
  csv.cell(totals.applied > 0 ? std::to_string(totals.max_staleness) : "");
  csv.cell(loss_text(summary.loss, point.with_model()));
  csv.cell(summary.test_error);
  add_estimate(csv, theory.iteration_time);
  for (const auto& value : point.swept) csv.cell(value);
  for (const double time : summary.target_times) csv.cell(time);
  csv.cell(point.with_model() ? std::to_string(record.gradients_computed) : "");
  const bool hashed = point.with_model() && record.status == Status::finished;
  csv.cell(hashed ? hex_text(record.hash) : "");
  csv.cell(totals.lost);
  csv.end_row();
  return csv.text();
}

}  // namespace gradrace
