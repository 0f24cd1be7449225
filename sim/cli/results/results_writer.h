#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/results/output_folder.h"
#include "sim/cli/results/recorders.h"
#include "sim/cli/results/replay_notes.h"
#include "sim/cli/results/run_files.h"

namespace gradrace {

/// The recorders that a scenario wants of one run.
struct RunRecorders {
  RunRecorders(const Scenario& scenario, std::size_t point, std::uint32_t replica);

  Observer* observer() { return observers.empty() ? nullptr : &observers; }

  std::optional<UpdatesRecorder> updates;
  std::optional<TraceRecorder> trace;
  Observers observers;
};

/// Writes the CSV files and the trace of a scenario's runs into an output folder: runs in the order
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
  std::vector<std::string> notes() const { return replays_.texts(); }

 private:
  using Texts = std::map<std::string, std::string>;  // of files

  void write(const Texts& texts);
  RunSummary summarise(const Point& point, const RunRecord& record) const;

  const Scenario& scenario_;
  const std::vector<Theory> theories_;
  OutputFolder& folder_;
  std::size_t next_ = 0;
  std::map<std::size_t, Texts> early_;  // finished before a run of a lower number
  bool traced_ = false;
  std::vector<RunSummary> summaries_;
  const CsvFile<RunRow> runs_csv_;
  ReplayNotes replays_;
};

}  // namespace gradrace
