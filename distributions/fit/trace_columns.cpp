#include "distributions/fit/trace_columns.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>
#include <vector>

namespace gradrace {

namespace {

constexpr std::string_view time_words[] = {"time",      "duration",       "runtime",
                                           "elapsed",   "latency",        "batch_time",
                                           "step_time", "iteration_time", "compute_time"};
constexpr std::string_view learner_words[] = {"learner", "worker",  "rank",
                                              "node",    "machine", "host"};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// The length of the longest of the words in the name.
std::size_t longest_word(const std::string& name) {
  std::size_t longest = 0;
  for (const auto word : time_words) {
    if (lower(name).find(word) != std::string::npos) longest = std::max(longest, word.size());
  }
  return longest;
}

/// Why the column holds no measured times; empty if it may.
std::string defect_of(const Table& table, std::size_t column) {
  if (table.names[column].empty()) return "has no name";
  bool counts = true, changes = false;
  double before = 0;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string& cell = table.rows[row][column];
    double number = 0;
    if (!parse_number(cell, number)) {
      return "has \"" + cell + "\" in line " + std::to_string(table.lines[row]);
    }
    counts = counts && number == std::floor(number) && number >= before;
    changes = changes || (row > 0 && number != before);
    before = number;
  }
  if (!counts) return {};
  return changes ? "holds whole numbers that never fall, as a counter"
                 : "is always " + table.rows.front()[column];
}

/// A hint where a table of one column was written with other separators.
std::string separator_hint(const Table& table) {
  if (table.names.size() > 1) return {};
  for (const auto& [separator, name] : {std::pair{';', "semicolons"}, {'\t', "tabs"}}) {
    if (table.names.front().find(separator) != std::string::npos) {
      return std::string("; its cells are separated by ") + name + ", and must be by commas";
    }
  }
  return {};
}

std::string learner_column(const Table& table) {
  for (const auto word : learner_words) {
    for (const auto& name : table.names) {
      if (lower(name) == word) return name;
    }
  }
  return {};
}

}  // namespace

TraceColumns guess_columns(const Table& table, bool time_wanted) {
  TraceColumns columns;
  columns.learner = learner_column(table);
  if (!columns.learner.empty()) columns.learner_why = "chosen by its name";
  if (!time_wanted) return columns;
  std::vector<std::string> candidates;
  std::string listed, defects;
  for (std::size_t column = 0; column < table.names.size(); ++column) {
    const std::string& name = table.names[column];
    const std::string defect =
        name == columns.learner ? "names the learners" : defect_of(table, column);
    if (!defect.empty()) {
      defects += (defects.empty() ? "" : "; ") +
                 (name.empty() ? "column " + std::to_string(column + 1) : name) + " " + defect;
      continue;
    }
    candidates.push_back(name);
    listed += (listed.empty() ? "" : ", ") + name;
  }
  const auto best = std::max_element(
      candidates.begin(), candidates.end(),
      [](const auto& a, const auto& b) { return longest_word(a) < longest_word(b); });
  if (best != candidates.end() && longest_word(*best) > 0) {
    columns.time = *best;
    columns.time_why = "chosen by its name";
  } else if (candidates.size() == 1) {
    columns.time = candidates.front();
    columns.time_why = "the only one of numbers that is no counter";
  } else {
    throw TraceError(
        "column",
        table.file.string() + ": which column holds the times?  Say --column NAME; " +
            (listed.empty() ? "none looks like measured numbers: " + defects + separator_hint(table)
                            : "among " + listed));
  }
  return columns;
}

}  // namespace gradrace
