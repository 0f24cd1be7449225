#include "sim/cli/commands/run_sizes.h"

#include <algorithm>

#include "sim/cli/results/manifest.h"
#include "sim/cli/results/pages.h"
#include "sim/cli/results/run_header.h"
#include "sim/cli/results/run_store.h"
#include "sim/cli/results/theory_files.h"
#include "sim/hash.h"

namespace gradrace {

DiskSize& DiskSize::operator+=(const DiskSize& other) {
  store += other.store;
  for (const auto& [file, size] : other.files) files[file] += size;
  return *this;
}

DiskSize DiskSize::operator*(double times) const {
  DiskSize product{store * times, files};
  for (auto& [file, size] : product.files) size *= times;
  return product;
}

RunSizes::RunSizes(const Scenario& scenario, Compression compression)
    : scenario_(scenario),
      compression_(compression),
      runs_(runs_csv(scenario.swept_paths, targets_of(scenario.first()), run_columns(scenario))),
      tables_(run_tables(scenario)) {}

double RunSizes::sample(std::string_view file, std::string_view text) {
  constexpr std::size_t most = 1 << 20;  // tells as much as all would
  if (compression_ != Compression::none) {
    std::string& kept = samples_[file];
    kept += text.substr(0, most - kept.size());
  }
  return static_cast<double>(text.size());
}

double RunSizes::of_files(const DiskSize& size) const {
  double sum = 0;
  for (const auto& [file, bytes] : size.files) {
    const auto found = samples_.find(file);
    const bool is_known = found != samples_.end() && !found->second.empty();
    sum += !is_known ? bytes
                     : bytes * static_cast<double>(compressed_size(found->second, compression_)) /
                           static_cast<double>(found->second.size());
  }
  return sum;
}

/// Without what the file begins and ends with.
double RunSizes::text_of(const RunTable& table, const Point& point, const Spool& rows) {
  double size = 0;
  const auto count = [&](const std::string&, std::string_view text) {
    size += sample(table.name, text);
  };
  const auto writer =
      table.events ? event_writer(count, table) : csv_writer(count, table.page, table.types.size());
  writer->begin_run(0, 0, point.label.text());
  rows.read([&](std::string_view piece) { writer->add(piece); });
  writer->end();
  return size - static_cast<double>(table.events ? 0 : table.page.header().size());
}

std::map<std::string_view, DiskSize> RunSizes::of_rows(const Point& point, const RunRows& rows) {
  std::map<std::string_view, DiskSize> sizes;
  for (const auto& [file, cells] : rows) {
    const auto& table = *std::ranges::find(tables_, file, &RunTable::name);
    sizes[file] = {static_cast<double>(cells.size()), {{file, text_of(table, point, cells)}}};
  }
  return sizes;
}

DiskSize RunSizes::of_result(const Point& point, const Theory& theory, const RunResult& result) {
  std::string cells, line = "0,0,";
  runs_.add(cells, {point, theory, result, summary_of(point, result), counted_exchanges(point),
                    message_bits(point)});
  RowReader(runs_.columns.size() - 2).read(cells, [&](CellRow row) { add_csv_line(line, row); });
  return {static_cast<double>(RunStore::size_of_run(bytes_of(result), {})),
          {{"runs.csv", static_cast<double>(line.size())}}};
}

DiskSize RunSizes::of_rest(const std::vector<Theory>& theories) {
  RunFacts facts;  // as far as they make the manifest long
  const std::string hash = Hash().hex();
  DiskSize size;
  size.files["runs.csv"] = static_cast<double>(pages_of(scenario_).front().header().size());
  facts.files["runs.csv"] = hash;
  for (const RunTable& table : tables_) {
    facts.files[table.name] = hash;
    if (!table.events) size.files[table.name] = static_cast<double>(table.page.header().size());
  }
  const auto curves = error_curve_rows(scenario_, theories);
  if (!curves.empty()) {
    size.files["theory.csv"] = sample("theory.csv", theory_csv.text(curves));
    facts.files["theory.csv"] = hash;
  }
  const std::string header = RunHeader::of(scenario_, {}, scenario_.runs()).text();
  size.store = static_cast<double>(RunStore::size_of_header(header));
  size.files["manifest.json"] = static_cast<double>(manifest_text(scenario_, facts).size());
  return size;
}

}  // namespace gradrace
