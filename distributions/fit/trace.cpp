#include "distributions/fit/trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace gradrace {

namespace {

bool parse_time(const std::string& cell, double& time) {
  return parse_number(cell, time) && std::isfinite(time) && time > 0;
}

double time_in(const Table& table, std::size_t row, std::size_t column) {
  const std::string& cell = table.rows[row][column];
  double time = 0;
  if (parse_time(cell, time)) return time;
  const auto others =
      std::count_if(table.rows.begin() + static_cast<std::ptrdiff_t>(row) + 1, table.rows.end(),
                    [&](const auto& cells) { return !parse_time(cells[column], time); });
  throw TraceError(
      "column",
      table.file.string() + ":" + std::to_string(table.lines[row]) + ": " + table.names[column] +
          " must be a time, got " + shown(cell) +
          (others > 0 ? "; so must " + std::to_string(others) + " more rows below" : ""),
      "a finite number > 0");
}

}  // namespace

void sort_learners(std::vector<std::string>& names) {
  std::map<std::string, double> numbers;
  for (const auto& name : names) {
    double number = 0;
    if (!parse_number(name, number)) return std::sort(names.begin(), names.end());
    numbers[name] = number;
  }
  std::sort(names.begin(), names.end(), [&](const auto& a, const auto& b) {
    return std::pair(numbers[a], a) < std::pair(numbers[b], b);
  });
}

std::size_t Trace::size() const {
  std::size_t count = 0;
  for (const auto& times : series) count += times.size();
  return count;
}

Trace trace_of(const Table& table, std::string_view column, std::string_view learner_column) {
  const std::size_t time = table.column(column, "column");
  const bool by_learner = !learner_column.empty();
  const std::size_t learner = by_learner ? table.column(learner_column, "learner_column") : 0;
  std::map<std::string, std::vector<double>> series;
  for (std::size_t row = 0; row < table.rows.size(); ++row)
    series[by_learner ? table.rows[row][learner] : ""].push_back(time_in(table, row, time));
  Trace trace{table.file, table.hash, {}, {}};
  for (const auto& [name, times] : series) trace.learners.push_back(name);
  sort_learners(trace.learners);
  for (const auto& name : trace.learners) trace.series.push_back(std::move(series[name]));
  return trace;
}

}  // namespace gradrace
