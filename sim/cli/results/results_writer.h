#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/results/measured_notes.h"
#include "sim/cli/results/output_folder.h"
#include "sim/cli/results/run_files.h"
#include "sim/cli/results/run_recorders.h"

namespace gradrace {

/// Writes the files of results of a scenario's runs into an output folder: runs in the order
/// of their numbers (point x replicas + replica), in whatever order they finish.
class ResultsWriter {
 public:
  /// theories: one for each point.
  ResultsWriter(const Scenario& scenario, std::vector<Theory> theories, OutputFolder& folder);

  /// For a run that begins.
  std::unique_ptr<RunRecorders> recorders(std::size_t run) const;

  /// A run is done.  Not safe from several threads at once.
  void add(std::size_t run, const RunRecord& record, RunRecorders& recorders);

  /// All runs that will come have come.
  void finish();

  const std::vector<RunSummary>& summaries() const { return summaries_; }
  /// What the user should know of the runs added.
  std::vector<std::string> notes() const;

 private:
  RunId id_of(std::size_t run) const;
  bool learners_known() const { return scenario_.first().sampler == Sampler::events; }
  void write(const RunTexts& texts);

  const Scenario& scenario_;
  const std::vector<Theory> theories_;
  OutputFolder& folder_;
  std::size_t next_ = 0;
  std::map<std::size_t, RunTexts> early_;  // finished before a run of a lower number
  std::set<std::string_view> begun_;       // files that have the text of a run
  std::vector<RunSummary> summaries_;
  const CsvFile<RunRow> runs_csv_;
  MeasuredNotes measured_notes_;
};

}  // namespace gradrace
