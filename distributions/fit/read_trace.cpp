#include "distributions/fit/read_trace.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <map>
#include <span>
#include <utility>

#include "distributions/fit/readers/step_events.h"
#include "sim/hash.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

std::string in_brackets(const std::string& why) { return why.empty() ? "" : " (" + why + ")"; }

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The first column whose name has one of the words; empty: none.
std::string column_with(const Table& table, std::span<const char* const> words) {
  for (const auto& name : table.names) {
    std::string small = name;
    std::ranges::transform(small, small.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const auto* word : words) {
      if (small.find(word) != std::string::npos) return name;
    }
  }
  return {};
}

/// A column that may say which minibatches were cancelled.
std::string cancelled_column(const Table& table) {
  constexpr std::array words{"cancel", "censor", "abort", "killed", "interrupted", "dropped"};
  return column_with(table, words);
}

/// How many rows a step has, by a column that counts steps, where nearly all have as many; 0: they
/// have not, or there is no such column.
std::size_t rows_a_step(const Table& table) {
  constexpr std::array words{"step", "iter", "round", "update"};
  constexpr std::size_t fewest_steps = 8;
  const std::string name = column_with(table, words);
  if (name.empty() || std::ranges::count(table.names, name) != 1) return 0;
  const std::size_t column = table.column(name, "column");
  std::map<std::string, std::size_t> rows;
  for (const auto& row : table.rows) ++rows[row[column]];
  std::map<std::size_t, std::size_t> steps;  // [rows of a step]
  for (const auto& [step, count] : rows) ++steps[count];
  const auto most = std::ranges::max_element(steps, {}, [](const auto& one) { return one.second; });
  return rows.size() >= fewest_steps && 10 * most->second >= 9 * rows.size() ? most->first : 0;
}

ReadTrace read_columns(const fs::path& file, const TraceRequest& request) {
  if (!request.step.empty()) {
    throw TraceError("step", file.string() + ": --step names an event of a JSON file of events",
                     "--column NAME for a CSV file");
  }
  const Table table = read_table(file);
  const TraceColumns columns = choose_columns(table, request);
  const bool wide = columns.times.size() > 1;
  if (wide && !request.cancelled.empty()) {
    throw TraceError("censored",
                     file.string() +
                         ": a column that says which minibatches were cancelled "
                         "belongs to one column of times",
                     "one --column");
  }
  ReadTrace result{wide
                       ? wide_trace_of(table, columns.times)
                       : trace_of(table, columns.times.front(), columns.learner, request.cancelled),
                   {}};
  TraceSource& source = result.source;
  source.times = listed(columns.times);
  source.learner = columns.learner;
  source.times_told =
      (wide ? "columns " : "column ") + source.times + in_brackets(columns.time_why);
  source.learner_told = wide ? "one a column"
                        : columns.learner.empty()
                            ? "no column, all times are one learner's"
                            : "column " + columns.learner + in_brackets(columns.learner_why);
  source.one_column = !wide;
  if (!request.cancelled.empty()) return result;
  source.cancelled_hint = cancelled_column(table);
  const std::size_t a_step = rows_a_step(table);
  if (a_step < result.trace.series.size()) source.learners_a_step = a_step;
  return result;
}

void refuse_columns(const fs::path& file, const TraceRequest& request) {
  const char* option = !request.columns.empty()     ? "column"
                       : !request.cancelled.empty() ? "censored"
                       : request.learner            ? "learner"
                                                    : nullptr;
  if (!option) return;
  throw TraceError(option,
                   file.string() + " has events and no columns: --" + option + " is for CSV files",
                   "--step NAME for a file of events");
}

/// Joins what several files say; a learner that two files have is told apart by the file.
ReadTrace read_event_files(const std::vector<fs::path>& files, const TraceRequest& request) {
  ReadTrace result{{files.front(), "", {}, {}}, {}};
  std::map<std::string, std::vector<double>> series;
  Hash hash;
  for (const auto& file : files) {
    refuse_columns(file, request);
    const std::string text = read_trace_file(file);
    hash.add_bytes(text);
    const EventTimes times = is_horovod_timeline(text) ? horovod_steps(file, text, request.step)
                                                       : step_events(file, text, request.step);
    for (std::size_t i = 0; i < times.learners.size(); ++i) {
      std::string name = times.learners[i];
      if (files.size() > 1 && (name.empty() || series.contains(name)))
        name = file.stem().string() + (name.empty() ? "" : "/" + name);
      if (!series.emplace(name, times.series[i]).second)
        throw TraceError("path", file.string() + ": a file of that name was read before");
    }
    result.source.times = times.what.substr(times.what.find(' ') + 1);
    result.source.times_told = times.what + ", in seconds" + in_brackets(times.why);
    result.source.step_times = times.step_times;
  }
  result.trace.hash = hash.hex();
  for (const auto& [name, times] : series) result.trace.learners.push_back(name);
  sort_learners(result.trace.learners);
  for (const auto& name : result.trace.learners)
    result.trace.series.push_back(std::move(series[name]));
  result.source.learner_told = result.trace.learners.size() > 1 ? "ranks, files or tracks of events"
                                                                : "one, all times are its own";
  return result;
}

/// Told by the first byte; what cannot be opened is left to the reader of tables.
bool has_events(const fs::path& file) {
  std::error_code ignored;
  if (fs::is_fifo(file, ignored) || fs::is_character_file(file, ignored))
    throw TraceError(
        "path", file.string() + ": is a pipe or a device, and it is read more than once", "a file");
  std::ifstream stream(file, std::ios::binary);
  char first = 0;
  stream >> first;
  return first == '{' || first == '[';
}

}  // namespace

ReadTrace read_trace(const std::vector<fs::path>& files, const TraceRequest& request) {
  const bool events = has_events(files.front());
  if (!events && files.size() > 1) {
    throw TraceError("path",
                     "takes one CSV file; several are read where all are JSON files of "
                     "trace events, one a learner");
  }
  ReadTrace result =
      events ? read_event_files(files, request) : read_columns(files.front(), request);
  result.source.scale = request.scale;
  for (auto& times : result.trace.series) {
    for (double& time : times) time *= request.scale;
  }
  return result;
}

}  // namespace gradrace
