#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/output/compressed_file.h"
#include "sim/cli/results/run_files.h"
#include "sim/cli/results/run_recorders.h"
#include "sim/cli/results/run_tables.h"

namespace gradrace {

/// Bytes that something takes on the disk: in the store of runs, and in each of the files made of
/// it, before these are compressed.
struct DiskSize {
  double store = 0;
  std::map<std::string_view, double> files = {};

  DiskSize& operator+=(const DiskSize& other);
  DiskSize operator*(double times) const;
};

/// What runs of a scenario take on the disk.  The scenario must outlive it.
class RunSizes {
 public:
  RunSizes(const Scenario& scenario, Compression compression);

  /// Of the rows that a run has for each file.
  std::map<std::string_view, DiskSize> of_rows(const Point& point, const RunRows& rows);
  /// Of its row in runs.csv, and of what the store has of any run.
  DiskSize of_result(const Point& point, const Theory& theory, const RunResult& result);
  /// Of what is there without runs.
  DiskSize of_rest(const std::vector<Theory>& theories);
  /// Bytes of all files, compressed as well as what was counted of each of them is.
  double of_files(const DiskSize& size) const;

 private:
  /// Its size.
  double text_of(const RunTable& table, const Point& point, const Spool& rows);
  double sample(std::string_view file, std::string_view text);

  const Scenario& scenario_;
  const Compression compression_;
  std::map<std::string_view, std::string> samples_;  // [file], of those that are compressed
  const CsvFile<RunRow> runs_;
  const std::vector<RunTable> tables_;
};

}  // namespace gradrace
