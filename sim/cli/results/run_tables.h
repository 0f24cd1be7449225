#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/output/output_folder.h"
#include "sim/cli/results/csv_file.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// A file of results that is no CSV: its rows are events, apart by a separator.
struct EventFile {
  std::string_view begin, separator, end;
  std::span<const CellType> types;  // of a row
  /// The event that names the point; then those of a run.
  void (*add_process)(std::string& text, std::size_t point, const std::string& label);
  void (*add_event)(std::string& text, std::size_t point, CellRow row);
};

/// A file of results that runs have rows of.
struct RunTable {
  std::string name;
  std::vector<CellType> types;  // of a row, without its point and replica
  CsvPage page;
  const EventFile* events = nullptr;  // null: it has a page
};

/// Those in which each run of the scenario may have rows, but for runs.csv.
std::vector<RunTable> run_tables(const Scenario& scenario);

/// Writes a table, run after run.
class TableWriter {
 public:
  explicit TableWriter(std::size_t columns) : reader_(columns) {}
  virtual ~TableWriter() = default;

  /// What follows is of that run.
  virtual void begin_run(std::size_t point, std::uint32_t replica, const std::string& label) = 0;
  /// Cells of rows.  std::runtime_error if the disk refuses.
  void add(std::string_view cells) {
    reader_.read(cells, [this](CellRow row) { add_row(row); });
  }
  virtual void end() = 0;

 protected:
  virtual void add_row(CellRow row) = 0;

 private:
  RowReader reader_;
};

/// As CSV, with point and replica before each row of a run.
std::unique_ptr<TableWriter> csv_writer(OutputFolder& folder, const CsvPage& page,
                                        std::size_t columns);
std::unique_ptr<TableWriter> event_writer(OutputFolder& folder, const RunTable& table);

}  // namespace gradrace
