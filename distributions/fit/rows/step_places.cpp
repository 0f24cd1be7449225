#include "distributions/fit/rows/step_places.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "distributions/fit/readers/cell_time.h"
#include "distributions/fit/readers/column_words.h"

namespace gradrace {

namespace {

using Names = std::vector<std::string>;

// Of columns whose texts tell passes apart, and no parts of a step.
constexpr std::string_view run_words[] = {"run",        "job",     "attempt", "try",   "trial",
                                          "experiment", "session", "restart", "model", "config"};

/// [row] The texts that come again in columns that say neither whose a row is nor of which run.
Names kinds_of_rows(const Table& table, const TraceColumns& columns) {
  Names of_kinds;
  for (std::size_t column = 0; column < table.names.size(); ++column) {
    const auto& name = table.names[column];
    const auto cells = table.cells(column);
    const bool texts = std::ranges::none_of(cells, [](std::string_view cell) {
      return is_blank(cell) || cell_time(cell, DecimalMark::point).has_value();
    });
    const std::set<std::string_view> different(cells.begin(), cells.end());
    if (texts && 2 * different.size() <= cells.size() && !has_word(words_of(name), run_words) &&
        std::ranges::find(columns.learners, name) == columns.learners.end())
      of_kinds.push_back(name);
  }
  return learner_names(table, of_kinds);
}

/// Of a learner's rows, as they stand.
void count_passes(const std::vector<std::size_t>& rows, const Names& kinds,
                  std::vector<StepPlace>& places) {
  std::size_t back = 0, changes = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    changes += places[rows[i]] != places[rows[i - 1]];
    back += places[rows[i]] < places[rows[i - 1]];
  }
  if (4 * back > changes) return;
  std::set<std::pair<StepPlace, std::string_view>> made;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    StepPlace& place = places[rows[i]];
    if (i > 0) {
      const StepPlace& before = places[rows[i - 1]];
      place.pass = before.pass;
      if (place < before && made.contains({place, kinds[rows[i]]})) ++place.pass;
    }
    made.emplace(place, kinds[rows[i]]);
  }
}

std::vector<double> numbers_of(const Table& table, const std::string& name) {
  std::vector<double> numbers(table.rows.size());
  if (name.empty()) return numbers;
  const auto cells = table.cells(table.column(name, "step"));
  for (std::size_t row = 0; row < cells.size(); ++row) parse_number(cells[row], numbers[row]);
  return numbers;
}

}  // namespace

std::vector<StepPlace> step_places(const Table& table, const TraceColumns& columns) {
  std::vector<StepPlace> places;
  if (columns.step.empty()) return places;
  const auto steps = numbers_of(table, columns.step), epochs = numbers_of(table, columns.epoch);
  std::map<std::string, std::vector<std::size_t>> rows;  // by learner
  const auto learners = learner_names(table, columns.learners);
  for (std::size_t row = 0; row < steps.size(); ++row) {
    places.push_back({0, epochs[row], steps[row]});
    rows[learners[row]].push_back(row);
  }
  const Names kinds = kinds_of_rows(table, columns);
  for (const auto& [learner, its] : rows) count_passes(its, kinds, places);
  return places;
}

}  // namespace gradrace
