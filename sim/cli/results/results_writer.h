#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cli/results/measured_notes.h"
#include "sim/cli/results/observers.h"
#include "sim/cli/results/output_folder.h"
#include "sim/cli/results/run_files.h"
#include "sim/cli/scenario/record.h"

namespace gradrace {

/// The recorders that a scenario wants of one run.
class RunRecorders {
 public:
  RunRecorders(const RunId& run, const Point& point);

  Observer* observer() { return made_.empty() ? nullptr : &observers_; }
  const auto& made() const { return made_; }

 private:
  std::vector<std::pair<const Record*, std::unique_ptr<Recorder>>> made_;
  Observers observers_;
};

/// Writes the files of results of a scenario's runs into an output folder: runs in the order
/// of their numbers (point x replicas + replica), in whatever order they finish.
class ResultsWriter {
 public:
  /// theories: one for each point.
  ResultsWriter(const Scenario& scenario, std::vector<Theory> theories, OutputFolder& folder);

  /// A run is done.  Not safe from several threads at once.
  void add(std::size_t run, RunRecord record, const RunRecorders& recorders);

  /// All runs that will come have come.
  void finish();

  const std::vector<RunSummary>& summaries() const { return summaries_; }
  /// What the user should know of the runs added.
  std::vector<std::string> notes() const;

 private:
  struct Texts {
    std::vector<std::pair<std::string_view, std::string>> tables;  // file, rows
    std::vector<std::pair<const Record*, std::string>> records;
  };

  bool learners_known() const { return scenario_.first().sampler == Sampler::events; }
  void write(const Texts& texts);
  std::string curve_text(const RunId& run, const Point& point, const RunRecord& record) const;
  RunSummary summarise(const Point& point, const RunRecord& record) const;

  const Scenario& scenario_;
  const std::vector<Theory> theories_;
  OutputFolder& folder_;
  std::size_t next_ = 0;
  std::map<std::size_t, Texts> early_;  // finished before a run of a lower number
  std::set<const Record*> recorded_;    // whose files have the text of a run
  std::vector<RunSummary> summaries_;
  const CsvFile<RunRow> runs_csv_;
  const CsvFile<CurveRow> curve_csv_;
  MeasuredNotes measured_notes_;
};

}  // namespace gradrace
