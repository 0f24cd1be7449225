#include "sim/cli/results/publish.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "sim/cli/results/pages.h"
#include "sim/cli/results/parquet.h"
#include "sim/cli/results/risen_losses.h"
#include "sim/cli/results/theory_files.h"
#include "sim/cli/scenario/one_rate.h"

namespace gradrace {

namespace {

std::string_view between(std::string_view file) {
  for (const Record* record : records()) {
    if (record->file == file) return record->between;
  }
  return {};
}

/// Puts the texts of runs, one after the other, into the files of a folder.
class Texts {
 public:
  explicit Texts(OutputFolder& folder) : folder_(folder) {}

  void begin_run(std::size_t point, const std::string& label) {
    point_ = std::to_string(point);
    label_ = nlohmann::json(label).dump();
    begun_.clear();
  }

  /// A piece of the run's text, whose marks are replaced.
  void add(std::string_view name, std::string_view piece) {
    const std::string file(name);
    if (begun_.insert(file).second && !files_.insert(file).second)
      folder_.append(file, between(name));
    text_.clear();
    std::size_t done = 0;
    for (std::size_t i = 0; i < piece.size(); ++i) {
      if (piece[i] != point_mark[0] && piece[i] != label_mark[0]) continue;
      text_ += piece.substr(done, i - done);
      text_ += piece[i] == point_mark[0] ? point_ : label_;
      done = i + 1;
    }
    text_ += piece.substr(done);
    folder_.append(file, text_);
  }

 private:
  OutputFolder& folder_;
  std::string point_, label_, text_;
  std::set<std::string> begun_;  // files that have text of this run
  std::set<std::string> files_;  // files that have text of any
};

CsvFile<RunRow> runs_file_of(const Scenario& scenario) {
  return runs_csv(scenario.swept_paths, targets_of(scenario.first()));
}

/// What the files of runs begin with: name and text.
std::vector<std::pair<std::string, std::string>> beginnings(const Scenario& scenario) {
  auto texts = text_beginnings(scenario.first());
  const auto runs_file = runs_file_of(scenario);
  texts.emplace_back(runs_file.name, runs_file.header());
  return texts;
}

void begin_files(const Scenario& scenario, const std::vector<Theory>& theories,
                 OutputFolder& folder) {
  for (const auto& [file, text] : beginnings(scenario)) folder.append(file, text);
  const auto curves = error_curve_rows(scenario, theories);
  if (!curves.empty()) folder.append("theory.csv", theory_csv.text(curves));
}

void end_files(const Scenario& scenario, OutputFolder& folder) {
  for (const auto& [record, make] : scenario.first().records)
    folder.append(std::string(record->file), record->end);
}

/// Gathers what the runs say together.
class Gathering {
 public:
  explicit Gathering(const RunFolder& folder) : folder_(folder) {
    summary_.runs.resize(folder.scenario().runs());
  }

  void add(std::size_t run, const RunResult& result) {
    summary_.runs[run] = gradrace::summary_of(result);
    ++summary_.finished;
    measured_.add(result.ran_out);
    risen_.add(folder_.scenario().point_of(run), result);
  }

  Summary end() {
    summary_.notes = measured_.texts();
    if (auto note = risen_.text(); !note.empty()) summary_.notes.push_back(std::move(note));
    if (!folder_.scenario().first().knows_learners()) {
      summary_.notes.emplace_back(
          "sampler order-statistic: one draw an update, of the K-th smallest of P runtimes; "
          "numbers have the law of those by events, and are other draws of it; learners are not "
          "told apart");
    }
    const std::string warning = one_rate_warning(folder_.scenario());
    if (!warning.empty()) summary_.notes.push_back(warning);
    return std::move(summary_);
  }

 private:
  const RunFolder& folder_;
  Summary summary_;
  MeasuredNotes measured_;
  RisenLosses risen_;
};

}  // namespace

Summary publish(RunFolder& folder, const std::vector<Theory>& theories, const RunFailures& failures,
                RunFacts facts, Format format) {
  const Scenario& scenario = folder.scenario();
  OutputFolder& files = folder.files();
  const auto runs_file = runs_file_of(scenario);
  begin_files(scenario, theories, files);
  const std::uint32_t replicas = scenario.replicas();
  Gathering gathering(folder);
  Texts texts(files);
  std::string rows;
  for (std::size_t point = 0; point < scenario.points.size(); ++point) {
    const Point& at = scenario.points[point];
    const CountedExchanges counted = counted_exchanges(at);
    for (std::uint32_t replica = 0; replica < replicas; ++replica) {
      const std::size_t run = point * replicas + replica;
      const auto failure = failures.find(run);
      if (!folder.has(run) && failure == failures.end()) continue;
      RunResult result;
      if (folder.has(run)) {
        result = folder.result(run);
        gathering.add(run, result);
        texts.begin_run(point, at.label.text());
        folder.read_texts(run, [&](auto file, auto piece) { texts.add(file, piece); });
      } else {
        result.status = Status::failed;
        result.reason = failure->second;
      }
      runs_file.add(rows, {point, replica, at, theories[point], result,
                           gradrace::summary_of(result), counted});
    }
    files.append("runs.csv", rows);
    rows.clear();
  }
  end_files(scenario, files);
  if (format == Format::parquet) turn_into_parquet(files, scenario);
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
  std::set<std::string> names{"manifest.json"};
  const auto add = [&](const std::string& name) {
    const bool is_table = name.ends_with(".csv");
    names.insert(is_table && format == Format::parquet ? parquet_name(name) : name);
  };
  for (const auto& [file, text] : beginnings(folder.scenario())) add(file);
  if (!error_curve_rows(folder.scenario(), theories).empty()) add("theory.csv");
  folder.files().refuse_others(names);
}

Summary summary_of(const RunFolder& folder) {
  Gathering gathering(folder);
  for (std::size_t run = 0; run < folder.size(); ++run)
    if (folder.has(run)) gathering.add(run, folder.result(run));
  return gathering.end();
}

}  // namespace gradrace
