#include "sim/cli/commands/run_sizes.h"

#include <algorithm>

#include "sim/cli/results/manifest.h"
#include "sim/cli/results/pages.h"
#include "sim/cli/results/run_header.h"
#include "sim/cli/results/run_store.h"
#include "sim/cli/results/theory_files.h"
#include "sim/hash.h"

namespace gradrace {

RunSizes::RunSizes(const Scenario& scenario)
    : scenario_(scenario),
      runs_(runs_csv(scenario.swept_paths, targets_of(scenario.first()),
                     scenario.first().with_compression())),
      tables_(run_tables(scenario)) {}

/// Without what the file begins and ends with.
double RunSizes::text_of(const RunTable& table, const Point& point, const Spool& rows) const {
  double size = 0;
  const auto count = [&](const std::string&, std::string_view text) {
    size += static_cast<double>(text.size());
  };
  const auto writer =
      table.events ? event_writer(count, table) : csv_writer(count, table.page, table.types.size());
  writer->begin_run(0, 0, point.label.text());
  rows.read([&](std::string_view piece) { writer->add(piece); });
  writer->end();
  return size - static_cast<double>(table.events ? 0 : table.page.header().size());
}

std::map<std::string_view, DiskSize> RunSizes::of_rows(const Point& point,
                                                       const RunRows& rows) const {
  std::map<std::string_view, DiskSize> sizes;
  for (const auto& [file, cells] : rows) {
    const auto& table = *std::ranges::find(tables_, file, &RunTable::name);
    sizes[file] = {static_cast<double>(cells.size()), text_of(table, point, cells)};
  }
  return sizes;
}

DiskSize RunSizes::of_result(const Point& point, const RunResult& result) const {
  std::string cells, line = "0,0,";
  runs_.add(cells, {point, point.theory(), result, summary_of(result), counted_exchanges(point)});
  RowReader(runs_.columns.size() - 2).read(cells, [&](CellRow row) { add_csv_line(line, row); });
  return {static_cast<double>(RunStore::size_of_run(bytes_of(result), {})),
          static_cast<double>(line.size())};
}

DiskSize RunSizes::of_rest(const std::vector<Theory>& theories) const {
  RunFacts facts;  // as far as they make the manifest long
  const std::string hash = Hash().hex();
  std::string begins = pages_of(scenario_).front().header();
  facts.files["runs.csv"] = hash;
  for (const RunTable& table : tables_) {
    facts.files[table.name] = hash;
    if (!table.events) begins += table.page.header();
  }
  const auto curves = error_curve_rows(scenario_, theories);
  if (!curves.empty()) begins += theory_csv.text(curves), facts.files["theory.csv"] = hash;
  const std::string header = RunHeader::of(scenario_, {}, scenario_.runs()).text();
  return {static_cast<double>(RunStore::size_of_header(header)),
          static_cast<double>(begins.size() + manifest_text(scenario_, facts).size())};
}

}  // namespace gradrace
