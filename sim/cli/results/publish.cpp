#include "sim/cli/results/publish.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "sim/cli/results/pages.h"
#include "sim/cli/results/theory_files.h"
#include "sim/cli/scenario/one_rate.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

/// Whether sizes of groups are swept, and one device's share of the model is not.
bool groups_have_one_share(const Scenario& scenario) {
  const auto bytes_of = [](const Point& point) {
    const auto& [star, peers] = std::tie(point.cluster.transit.network, point.cluster.peers);
    return star ? star->model_bytes : peers ? peers->model_bytes : 0;
  };
  const double bytes = bytes_of(scenario.first());
  return bytes > 0 &&
         std::ranges::any_of(scenario.swept_paths,
                             [](const std::string& path) {
                               return path == "cluster.group" || path == "cluster.group.grid";
                             }) &&
         std::ranges::all_of(scenario.points,
                             [&](const Point& point) { return bytes_of(point) == bytes; });
}

/// Writes the tables of a folder in a format.
class Tables {
 public:
  Tables(OutputFolder& folder, const Scenario& scenario, Format format)
      : folder_(folder), format_(format) {
    const CsvPage runs = pages_of(scenario).front();
    open(runs, runs.columns.size() - 2);
    for (const RunTable& table : run_tables(scenario)) {
      if (table.events)
        writers_.emplace(table.name, event_writer(append_, table));
      else
        open(table.page, table.types.size());
    }
  }

  TableWriter& of(const std::string& file) { return *writers_.at(file); }

  /// A table that has all columns of its own; page: its own, or with other types.
  template <class Values>
  void add(const CsvPage& page, const CsvFile<Values>& table, const std::vector<Values>& rows) {
    std::string cells;
    for (const Values& values : rows) table.add(cells, values);
    open(page, table.columns.size()).add(cells);
  }

  void end() {
    for (const auto& [file, writer] : writers_) writer->end();
    if (format_ != Format::csv) convert(folder_, pages_, format_);
  }

 private:
  TableWriter& open(const CsvPage& page, std::size_t columns) {
    pages_.push_back(page);
    const auto make = format_ == Format::csv ? csv_writer : column_writer;
    return *writers_.emplace(page.name, make(append_, page, columns)).first->second;
  }

  OutputFolder& folder_;
  const TableWriter::Append append_ = [this](const std::string& file, std::string_view text) {
    folder_.append(file, text);
  };
  const Format format_;
  std::map<std::string, std::unique_ptr<TableWriter>> writers_;  // [file]
  std::vector<CsvPage> pages_;
};

/// Tells of finished runs on data whose loss ended a tenth or more above where it began.
class RisenLosses {
 public:
  void add(const Point& point, const RunResult& result) {
    ++runs_;
    if (!point.with_model() || !point.model->has_dataset()) return;
    if (result.status != Status::finished || !result.first_loss) return;
    constexpr double least_factor = 1.1;
    const double first = *result.first_loss, last = result.last.evaluation.loss;
    if (!(first > 0) || !(last >= least_factor * first)) return;
    if (risen_++ > 0 && last / first <= last_ / first_) return;
    label_ = point.label.text(), first_ = first, last_ = last;
  }

  /// "the loss of 2 runs of 8 ended above where it began, that of async furthest (0.693 to 110); a
  /// smaller learning rate or ..."; empty where there are none.
  std::string text() const {
    if (risen_ == 0) return {};
    return "the loss of " + count_text(risen_, "run") + " of " + std::to_string(runs_) +
           " ended above where it began, furthest that of " + label_ + " (" +
           short_number(first_, 3) + " to " + short_number(last_, 3) +
           "): the learning rate is too large, or features are of very different size "
           "(\"standardise\" "
           "of csv and libsvm data; others are to be scaled in their files)";
  }

 private:
  std::size_t runs_ = 0, risen_ = 0;
  std::string label_;  // of the point whose run rose by the largest factor
  double first_ = 1, last_ = 0;
};

/// Gathers what the runs say together.
class Gathering {
 public:
  explicit Gathering(const RunFolder& folder) : folder_(folder) {
    summary_.runs.resize(folder.scenario().runs());
  }

  void add(std::size_t run, const RunResult& result) {
    summary_.runs[run] = gradrace::summary_of(folder_.scenario().point_of(run), result);
    ++summary_.finished;
    measured_.add(result.ran_out);
    risen_.add(folder_.scenario().point_of(run), result);
    if (result.status == Status::finished && result.totals.updates == 0) ++without_updates_;
  }

  Summary end() {
    summary_.notes = measured_.texts();
    if (auto note = risen_.text(); !note.empty()) summary_.notes.push_back(std::move(note));
    if (without_updates_ > 0) {
      summary_.notes.push_back(count_text(without_updates_, "run") + " of " +
                               std::to_string(summary_.finished) +
                               " ended before the first update: a longer stop.time, or shorter "
                               "times of the cluster");
    }
    if (!folder_.scenario().first().knows_learners()) {
      summary_.notes.emplace_back(
          "sampler order-statistic: one draw an update, of the K-th smallest of P runtimes; "
          "numbers have the law of those by events, and are other draws of it; learners are not "
          "told apart");
    }
    const std::string warning = one_rate_warning(folder_.scenario());
    if (!warning.empty()) summary_.notes.push_back(warning);
    if (groups_have_one_share(folder_.scenario()))
      summary_.notes.emplace_back(
          "groups of unlike size have one cluster.network.model_bytes, which is one device's "
          "share; sweep it beside cluster.group");
    return std::move(summary_);
  }

 private:
  const RunFolder& folder_;
  Summary summary_;
  MeasuredNotes measured_;
  RisenLosses risen_;
  std::size_t without_updates_ = 0;
};

/// What a database says of the other tables.
struct PointRow {
  std::size_t point;
  const Point& at;
};
struct ColumnRow {
  std::string_view table;
  const Column& column;
  const std::string& time_unit;
};

void add_catalog(Tables& tables, const Scenario& scenario) {
  CsvFile<PointRow> points{
      "points.csv",
      "one point",
      {{"point", "", point_meaning, &PointRow::point},
       {"protocol", "", "its kind", [](auto& row) { return row.at.protocol_name; }},
       {"label", "", "its name", [](auto& row) { return row.at.label.text(); }}}};
  add_swept(points.columns, scenario.swept_paths);
  std::vector<PointRow> of_points;
  for (std::size_t i = 0; i < scenario.points.size(); ++i)
    of_points.push_back({i, scenario.points[i]});
  CsvPage page = points.page();
  const auto pages = pages_of(scenario);
  for (Column& column : page.columns)
    column.type = std::ranges::find(pages.front().columns, column.name, &Column::name)->type;
  tables.add(page, points, of_points);

  const CsvFile<Target> targets{"targets.csv",
                                "one target",
                                {{"column", "", "of runs: the time to it", &Target::column},
                                 {"of", "", "loss or test_error", &Target::of},
                                 {"level", "", "to be reached", &Target::level}}};
  tables.add(targets.page(), targets, targets_of(scenario.first()));

  const CsvFile<ColumnRow> meanings{
      "columns.csv",
      "one column",
      {{"table", "", "that has it", &ColumnRow::table},
       {"name", "", "of the column", [](auto& row) { return row.column.name; }},
       {"unit", "", "of its values",
        [](auto& row) {
          const bool is_named = row.column.unit == "time" && !row.time_unit.empty();
          return is_named ? row.time_unit : std::string(row.column.unit);
        }},
       {"definition", "", "in words", [](auto& row) { return row.column.meaning.text; }},
       {"formula", "", "where it is computed",
        [](auto& row) { return row.column.meaning.formula; }}}};
  std::vector<ColumnRow> of_columns;
  for (const CsvPage& of : pages)
    for (const Column& column : of.columns)
      of_columns.push_back(
          {of.name.substr(0, of.name.find('.')), column, scenario.first().time_unit});
  tables.add(meanings.page(), meanings, of_columns);
}

/// All but the manifest.
void write_tables(RunFolder& folder, const std::vector<Theory>& theories,
                  const RunFailures& failures, Format format, const std::function<bool()>& stop,
                  Gathering& gathering) {
  const Scenario& scenario = folder.scenario();
  const auto runs_file =
      runs_csv(scenario.swept_paths, targets_of(scenario.first()), run_columns(scenario));
  Tables tables(folder.files(), scenario, format);
  const auto curves = error_curve_rows(scenario, theories);
  if (!curves.empty()) tables.add(theory_csv.page(), theory_csv, curves);
  if (format == Format::sqlite) add_catalog(tables, scenario);
  std::vector<CountedExchanges> counted;
  std::vector<std::optional<double>> bits;
  for (const Point& point : scenario.points) {
    counted.push_back(counted_exchanges(point));
    bits.push_back(message_bits(point));
  }
  std::string cells;
  for (std::size_t run = 0; run < scenario.runs(); ++run) {
    if (stop()) throw PublishingEnded();
    const auto failure = failures.find(run);
    if (!folder.has(run) && failure == failures.end()) continue;
    const std::size_t point = scenario.point_number(run);
    const Point& at = scenario.points[point];
    const auto begin = [&](const std::string& file) -> TableWriter& {
      TableWriter& table = tables.of(file);
      table.begin_run(point, scenario.replica_of(run), at.label.text());
      return table;
    };
    RunResult result;
    if (folder.has(run)) {
      std::string last;
      TableWriter* table = nullptr;
      result = folder.read(run, [&](const std::string& file, std::string_view piece) {
        if (std::exchange(last, file) != file) table = &begin(file);
        table->add(piece);
      });
      gathering.add(run, result);
    } else {
      result.status = Status::failed;
      result.reason = failure->second;
    }
    cells.clear();
    runs_file.add(cells, {at, theories[point], result, gradrace::summary_of(at, result),
                          counted[point], bits[point]});
    begin("runs.csv").add(cells);
  }
  tables.end();
}

}  // namespace

Summary publish(RunFolder& folder, const std::vector<Theory>& theories, const RunFailures& failures,
                RunFacts facts, Format format, const std::function<bool()>& stop) {
  const Scenario& scenario = folder.scenario();
  OutputFolder& files = folder.files();
  Gathering gathering(folder);
  write_tables(folder, theories, failures, format, stop, gathering);
  Summary summary = gathering.end();
  facts.runs = summary.runs.size();
  facts.finished = summary.finished;
  facts.notes = summary.notes;
  facts.arithmetic = folder.header().arithmetic;
  facts.device_reason = folder.header().device_reason;
  facts.data = folder.header().data_hashes;
  facts.files = files.finish();
  files.append("manifest.json", manifest_text(scenario, facts));
  summary.drawings_went = files.publish();
  return summary;
}

void refuse_others(RunFolder& folder, const std::vector<Theory>& theories, Format format) {
  std::set<std::string> names{manifest_record};
  const auto add = [&](const std::string& name) {
    const bool is_table = name.ends_with(".csv");
    names.insert(!is_table || format == Format::csv ? name
                 : format == Format::sqlite         ? database
                                                    : parquet_name(name));
  };
  add("runs.csv");
  for (const RunTable& table : run_tables(folder.scenario())) add(table.name);
  if (!error_curve_rows(folder.scenario(), theories).empty()) add(std::string(theory_csv.name));
  folder.files().refuse_others(names);
}

Summary summary_of(const RunFolder& folder) {
  Gathering gathering(folder);
  for (std::size_t run = 0; run < folder.size(); ++run)
    if (folder.has(run)) gathering.add(run, folder.read(run, [](auto&, auto) {}));
  return gathering.end();
}

}  // namespace gradrace
