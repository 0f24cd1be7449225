#include "sim/cli/results/results_writer.h"

#include <limits>

namespace gradrace {

namespace {

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

double ratio(double sum, std::uint64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : not_known;
}

RunSummary summary_of(const RunRecord& record, const CurveRecorder& curve) {
  const Totals& totals = record.totals;
  const double time = totals.time > 0 ? totals.time : not_known;
  return {.status = record.status,
          .iteration_time = ratio(totals.last_update_time, totals.updates),
          .staleness = ratio(static_cast<double>(totals.staleness_sum), totals.applied),
          .loss = record.last.evaluation.loss,
          .test_error = record.last.evaluation.test_error,
          .pace = static_cast<double>(totals.applied) / time,
          .target_times = curve.target_times()};
}

std::string_view between(std::string_view file) {
  for (const Record* record : records()) {
    if (record->file == file) return record->between;
  }
  return {};
}

}  // namespace

ResultsWriter::ResultsWriter(const Scenario& scenario, std::vector<Theory> theories,
                             OutputFolder& folder)
    : scenario_(scenario),
      theories_(std::move(theories)),
      folder_(folder),
      summaries_(scenario.points.size() * scenario.first().replicas),
      runs_csv_(runs_csv(scenario.swept_paths, target_columns(scenario.first()))) {
  const auto begin = [&](const auto& file) {
    folder_.append(std::string(file.name), file.header());
  };
  begin(runs_csv_);
  if (scenario.first().record_details) {
    begin(curve_csv(scenario.first().evaluated == EvaluatedValue::each));
    begin(staleness_csv);
    if (learners_known()) begin(learners_csv);
  }
  for (const auto& [record, make] : scenario.first().records)
    folder_.append(std::string(record->file), record->begin);
}

RunId ResultsWriter::id_of(std::size_t run) const {
  const std::uint32_t replicas = scenario_.first().replicas;
  return {run / replicas, static_cast<std::uint32_t>(run % replicas)};
}

std::unique_ptr<RunRecorders> ResultsWriter::recorders(std::size_t run) const {
  const RunId id = id_of(run);
  return std::make_unique<RunRecorders>(id, scenario_.points[id.point], folder_.spool_file());
}

void ResultsWriter::add(std::size_t run, const RunRecord& record, RunRecorders& recorders) {
  const RunId id = id_of(run);
  const Point& at = scenario_.points[id.point];
  summaries_[run] = summary_of(record, recorders.curve());
  measured_notes_.add(at.cluster, record.learners);
  RunTexts texts = std::move(recorders.texts());
  const auto text = [&](const auto& file) -> Spool& {
    return texts.try_emplace(file.name, folder_.spool_file()).first->second;
  };
  const CountedExchanges counted = counted_exchanges(at);
  runs_csv_.add(text(runs_csv_).end(),
                {id, record.totals, at, theories_[id.point], record, summaries_[run], counted});
  if (scenario_.first().record_details) {
    Spool& rows = text(staleness_csv);
    for (std::size_t i = 0; i < record.staleness_counts.size(); ++i) {
      const auto count = record.staleness_counts[i];
      if (count > 0) staleness_csv.add(rows.end(), {id, i, count});
    }
  }
  if (scenario_.first().record_details && learners_known()) {
    Spool& rows = text(learners_csv);
    for (std::size_t i = 0; i < record.learners.size(); ++i)
      learners_csv.add(rows.end(), {id, record.learners[i], i, record.totals.time, counted});
  }
  early_.emplace(run, std::move(texts));
  while (!early_.empty() && early_.begin()->first == next_) {
    write(early_.begin()->second);
    early_.erase(early_.begin());
    ++next_;
  }
}

void ResultsWriter::write(const RunTexts& texts) {
  for (const auto& [name, text] : texts) {
    const std::string file(name);
    const bool first = begun_.insert(name).second;
    if (!first) folder_.append(file, between(name));
    text.read([&](std::string_view piece) { folder_.append(file, piece); });
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

}  // namespace gradrace
