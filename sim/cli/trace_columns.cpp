#include "sim/cli/trace_columns.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "sim/cli/usage_error.h"

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

bool measures(const Table& table, std::size_t column) {
  bool counts = true;
  double before = 0;
  for (const auto& row : table.rows) {
    double number = 0;
    if (!parse_number(row[column], number)) return false;
    counts = counts && number == std::floor(number) && number >= before;
    before = number;
  }
  return !counts;
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
  std::string listed;
  for (std::size_t column = 0; column < table.names.size(); ++column) {
    const std::string& name = table.names[column];
    if (name.empty() || name == columns.learner || !measures(table, column)) continue;
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
    throw UsageError("fit: " + table.file.string() +
                     ": which column holds the times?  Say --column NAME; " +
                     (listed.empty() ? "none looks like measured numbers" : "among " + listed));
  }
  return columns;
}

}  // namespace gradrace
