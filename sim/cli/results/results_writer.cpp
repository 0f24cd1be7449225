#include "sim/cli/results/results_writer.h"

#include <limits>

namespace gradrace {

namespace {

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

double ratio(double sum, std::uint64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : not_known;
}

double first_time(const RunRecord& record, double Evaluation::*what, double target) {
  for (const auto& [at, evaluation] : record.curve) {
    if (evaluation.*what <= target) return at.time;
  }
  return not_known;
}

}  // namespace

RunRecorders::RunRecorders(const RunId& run, const Point& point) {
  for (const auto& [record, make] : point.records) {
    auto recorder = make(run, point);
    if (!recorder) continue;
    observers_.add(recorder.get());
    made_.emplace_back(record, std::move(recorder));
  }
}

ResultsWriter::ResultsWriter(const Scenario& scenario, std::vector<Theory> theories,
                             OutputFolder& folder)
    : scenario_(scenario),
      theories_(std::move(theories)),
      folder_(folder),
      summaries_(scenario.points.size() * scenario.first().replicas),
      runs_csv_(runs_csv(scenario.swept_paths, target_columns(scenario.first()))),
      curve_csv_(curve_csv(scenario.first().evaluated == EvaluatedValue::each)) {
  const auto begin = [&](const auto& file) {
    folder_.append(std::string(file.name), file.header());
  };
  begin(runs_csv_);
  if (scenario.first().record_details) {
    begin(curve_csv_);
    begin(staleness_csv);
    if (learners_known()) begin(learners_csv);
  }
  for (const auto& [record, make] : scenario.first().records)
    folder_.append(std::string(record->file), record->begin);
}

void ResultsWriter::add(std::size_t run, RunRecord record, const RunRecorders& recorders) {
  const std::size_t point = run / scenario_.first().replicas;
  const auto replica = static_cast<std::uint32_t>(run % scenario_.first().replicas);
  const Point& at = scenario_.points[point];
  const RunId id{point, replica};
  summaries_[run] = summarise(at, record);
  measured_notes_.add(at.cluster, record.learners);
  Texts texts;
  Csv runs, staleness, learners;
  const CountedExchanges counted = counted_exchanges(at);
  runs_csv_.add(runs, {id, record.totals, at, theories_[point], record, summaries_[run], counted});
  texts.tables.emplace_back("runs.csv", runs.text());
  if (scenario_.first().record_details) {
    for (std::size_t i = 0; i < record.staleness_counts.size(); ++i) {
      const auto count = record.staleness_counts[i];
      if (count > 0) staleness_csv.add(staleness, {id, i, count});
    }
    for (std::size_t i = 0; i < record.learners.size(); ++i)
      learners_csv.add(learners, {id, record.learners[i], i, record.totals.time, counted});
    texts.tables.emplace_back("curve.csv", curve_text(id, at, record));
    texts.tables.emplace_back("staleness.csv", staleness.text());
    if (learners_known()) texts.tables.emplace_back("learners.csv", learners.text());
  }
  for (const auto& [kind, recorder] : recorders.made())
    texts.records.emplace_back(kind, recorder->text());
  early_.emplace(run, std::move(texts));
  while (!early_.empty() && early_.begin()->first == next_) {
    write(early_.begin()->second);
    early_.erase(early_.begin());
    ++next_;
  }
}

/// A row of what an evaluation looks at, then one of each learner's value, where that is asked for.
std::string ResultsWriter::curve_text(const RunId& run, const Point& point,
                                      const RunRecord& record) const {
  Csv csv;
  auto of_learner = record.of_learners.begin();
  for (const auto& [place, evaluation] : record.curve) {
    curve_csv_.add(csv, {run, place, evaluation, point.with_model()});
    if (of_learner == record.of_learners.end()) continue;
    for (std::size_t learner = 0; learner < point.cluster.learners; ++learner)
      curve_csv_.add(csv, {run, place, *of_learner++, point.with_model(), learner});
  }
  return csv.text();
}

void ResultsWriter::write(const Texts& texts) {
  for (const auto& [file, rows] : texts.tables) folder_.append(std::string(file), rows);
  for (const auto& [record, text] : texts.records) {
    const bool first = recorded_.insert(record).second;
    if (!first) folder_.append(std::string(record->file), record->between);
    folder_.append(std::string(record->file), text);
  }
}

std::vector<std::string> ResultsWriter::notes() const {
  auto notes = measured_notes_.texts();
  if (!learners_known()) {
    notes.emplace_back(
        "sampler order-statistic: one draw an update, of the K-th smallest of P runtimes; numbers "
        "have the law of those by events, and are other draws of it; learners are not told apart");
  }
  return notes;
}

void ResultsWriter::finish() {
  for (const auto& [run, texts] : early_) write(texts);
  early_.clear();
  for (const auto& [record, make] : scenario_.first().records)
    folder_.append(std::string(record->file), record->end);
}

RunSummary ResultsWriter::summarise(const Point& point, const RunRecord& record) const {
  const Totals& totals = record.totals;
  RunSummary summary;
  summary.status = record.status;
  summary.iteration_time = ratio(totals.last_update_time, totals.updates);
  const double time = totals.time > 0 ? totals.time : not_known;
  summary.pace = static_cast<double>(totals.applied) / time;
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

}  // namespace gradrace
