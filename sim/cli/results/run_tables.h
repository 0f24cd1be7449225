#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// Writes a table into a file, run after run.
class TableWriter {
 public:
  /// Takes the text of the file, piece by piece.
  using Append = std::function<void(const std::string& file, std::string_view text)>;

  TableWriter(Append append, std::string file, std::size_t columns)
      : append_(std::move(append)), file_(std::move(file)), reader_(columns) {}
  virtual ~TableWriter() = default;

  /// What follows is of that run.
  virtual void begin_run(std::size_t point, std::uint32_t replica, const std::string& label) = 0;
  /// Cells of rows.  DiskError, here and below.
  void add(std::string_view cells) {
    reader_.read(cells, [this](CellRow row) {
      add_row(row);
      if (text_.size() >= piece_size) write();
    });
  }
  void end() {
    add_end();
    write();
  }

 protected:
  /// These add to the text.
  virtual void add_row(CellRow row) = 0;
  virtual void add_end() {}

  std::string text_;  // to be written

 private:
  static constexpr std::size_t piece_size = 1 << 16;

  void write() {
    append_(file_, text_);
    text_.clear();
  }

  const Append append_;
  const std::string file_;
  RowReader reader_;
};

/// As CSV, with point and replica before each row of a run.
std::unique_ptr<TableWriter> csv_writer(TableWriter::Append append, const CsvPage& page,
                                        std::size_t columns);
std::unique_ptr<TableWriter> event_writer(TableWriter::Append append, const RunTable& table);

}  // namespace gradrace
