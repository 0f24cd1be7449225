#include "distributions/fit/readers/table_trace.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <span>

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

}  // namespace

ReadTrace table_trace(const fs::path& file, const TraceRequest& request) {
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

}  // namespace gradrace
