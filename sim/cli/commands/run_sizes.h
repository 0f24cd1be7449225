#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "sim/cli/results/run_files.h"
#include "sim/cli/results/run_recorders.h"
#include "sim/cli/results/run_tables.h"

namespace gradrace {

/// Bytes that something takes on the disk: in the store of runs, and in the files made of it.
struct DiskSize {
  double store = 0, files = 0;

  DiskSize& operator+=(const DiskSize& other) {
    store += other.store, files += other.files;
    return *this;
  }
  DiskSize operator*(double times) const { return {store * times, files * times}; }
};

/// What runs of a scenario take on the disk.  The scenario must outlive it.
class RunSizes {
 public:
  explicit RunSizes(const Scenario& scenario);

  /// Of the rows that a run has for each file.
  std::map<std::string_view, DiskSize> of_rows(const Point& point, const RunRows& rows) const;
  /// Of its row in runs.csv, and of what the store has of any run.
  DiskSize of_result(const Point& point, const RunResult& result) const;
  /// Of what is there without runs.
  DiskSize of_rest(const std::vector<Theory>& theories) const;

 private:
  double text_of(const RunTable& table, const Point& point, const Spool& rows) const;

  const Scenario& scenario_;
  const CsvFile<RunRow> runs_;
  const std::vector<RunTable> tables_;
};

}  // namespace gradrace
