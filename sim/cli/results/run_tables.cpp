#include "sim/cli/results/run_tables.h"

#include "sim/cli/results/run_files.h"

namespace gradrace {

namespace {

class CsvWriter final : public TableWriter {
 public:
  CsvWriter(Append append, const CsvPage& page, std::size_t columns)
      : TableWriter(std::move(append), std::string(page.name), columns) {
    text_ = page.header();
  }

  void begin_run(std::size_t point, std::uint32_t replica, const std::string&) override {
    of_run_ = std::to_string(point) + ',' + std::to_string(replica) + ',';
  }
  void add_row(CellRow row) override {
    text_ += of_run_;
    add_csv_line(text_, row);
  }

 private:
  std::string of_run_;
};

class EventWriter final : public TableWriter {
 public:
  EventWriter(Append append, const RunTable& table)
      : TableWriter(std::move(append), table.name, table.types.size()), of_(*table.events) {
    text_ = of_.begin;
  }

  void begin_run(std::size_t point, std::uint32_t, const std::string& label) override {
    point_ = point, label_ = label, has_process_ = false;
  }
  void add_row(CellRow row) override {
    if (!has_process_) {
      text_ += has_events_ ? of_.separator : "";
      of_.add_process(text_, point_, label_);
    }
    has_process_ = has_events_ = true;
    text_ += of_.separator;
    of_.add_event(text_, point_, row);
  }
  void add_end() override { text_ += of_.end; }

 private:
  const EventFile& of_;
  std::string label_;
  std::size_t point_ = 0;
  bool has_process_ = false, has_events_ = false;
};

}  // namespace

std::vector<RunTable> run_tables(const Scenario& scenario) {
  const Point& first = scenario.first();
  std::vector<RunTable> tables;
  const auto add = [&](const CsvPage& page) {
    RunTable& table = tables.emplace_back(std::string(page.name), std::vector<CellType>(), page);
    for (std::size_t i = 2; i < page.columns.size(); ++i)
      table.types.push_back(page.columns[i].type);
  };
  if (first.record_details) {
    add(curve_csv(first).page());
    add(staleness_csv.page());
    if (first.knows_learners()) add(learners_csv(first.learner_columns).page());
  }
  for (const auto& [record, make] : first.records) {
    if (record->columns) {
      add(*record->columns);
    } else {
      const auto types = record->events->types;
      tables.emplace_back(std::string(record->file),
                          std::vector<CellType>(types.begin(), types.end()), CsvPage(),
                          record->events);
    }
  }
  return tables;
}

std::unique_ptr<TableWriter> csv_writer(TableWriter::Append append, const CsvPage& page,
                                        std::size_t columns) {
  return std::make_unique<CsvWriter>(std::move(append), page, columns);
}

std::unique_ptr<TableWriter> event_writer(TableWriter::Append append, const RunTable& table) {
  return std::make_unique<EventWriter>(std::move(append), table);
}

}  // namespace gradrace
