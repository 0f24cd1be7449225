#include "sim/cli/results/run_recorders.h"

namespace gradrace {

RunRecorders::RunRecorders(std::uint32_t replica, const Point& point, SpoolFile& file)
    : point_(point),
      file_(file),
      curve_(point, point.record_details ? &rows_of("curve.csv") : nullptr) {
  for (const auto& [record, make] : point.records) {
    if (auto recorder = make(replica, point, rows_of(record->file))) {
      observers_.add(recorder.get());
      made_.push_back(std::move(recorder));
    } else {
      rows_.erase(record->file);
    }
  }
}

RunResult RunRecorders::finish(const RunRecord& record) {
  if (point_.record_details) {
    Spool& rows = rows_of(staleness_csv.name);
    for (std::size_t i = 0; i < record.staleness_counts.size(); ++i) {
      const auto count = record.staleness_counts[i];
      if (count > 0) staleness_csv.add(rows.end(), {i, count});
    }
  }
  if (point_.record_details && point_.knows_learners()) {
    const CountedExchanges counted = counted_exchanges(point_);
    const auto& file = learners_csv(point_.learner_columns);
    Spool& rows = rows_of(file.name);
    for (std::size_t i = 0; i < record.learners.size(); ++i)
      file.add(rows.end(), {record.learners[i], i, record.totals.time, counted});
  }
  return result_of(record, point_.cluster, curve_.target_times(), curve_.target_intervals(),
                   curve_.first_loss());
}

}  // namespace gradrace
