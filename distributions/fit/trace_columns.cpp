#include "distributions/fit/trace_columns.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

namespace gradrace {

namespace {

constexpr std::string_view time_words[] = {
    "time",        "times", "duration", "durations", "elapsed", "latency",     "runtime",
    "walltime",    "ms",    "msec",     "us",        "usec",    "ns",          "nsec",
    "s",           "sec",   "secs",     "second",    "seconds", "millisecond", "milliseconds",
    "microseconds"};
constexpr std::string_view learner_words[] = {"learner", "worker",  "rank",
                                              "node",    "machine", "host"};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// "batch", "Time", "ms" of "batchTime_ms".
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  char before = ' ';
  for (const char c : name) {
    const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
    const bool rises = std::isupper(static_cast<unsigned char>(c)) != 0 &&
                       std::islower(static_cast<unsigned char>(before)) != 0;
    if (!letter || rises) words.emplace_back();
    if (letter) words.back() += c;
    before = c;
  }
  return words;
}

bool says_time(const std::string& name) {
  return std::ranges::any_of(words_of(name), [](const auto& word) {
    return std::ranges::find(time_words, lower(word)) != std::end(time_words);
  });
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) {
    if (!name.empty()) text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

bool matches(std::string_view name, std::string_view pattern) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  for (; !name.empty(); name.remove_prefix(1)) {
    if (matches(name, pattern)) return true;
  }
  return matches(name, pattern);
}

std::vector<std::string> asked_for(const Table& table, const TraceRequest& request) {
  std::vector<std::string> columns;
  for (const auto& pattern : request.columns) {
    const bool exact = std::ranges::find(table.names, pattern) != table.names.end();
    std::vector<std::string> found;
    for (const auto& name : table.names) {
      if (!exact && !name.empty() && matches(name, pattern)) found.push_back(name);
    }
    if (found.empty()) found.push_back(table.names[table.column(pattern, "column")]);
    for (const auto& name : found) {
      if (std::ranges::find(columns, name) == columns.end()) columns.push_back(name);
    }
  }
  return columns;
}

/// A hint where a table of one column was written with other separators.
std::string separator_hint(const Table& table) {
  if (table.names.size() > 1) return {};
  for (const auto& [separator, name] : {std::pair{';', "semicolons"}, {'\t', "tabs"}}) {
    if (table.names.front().find(separator) != std::string::npos)
      return std::string("; its cells are separated by ") + name + ", and must be by commas";
  }
  return {};
}

/// A hint where columns differ by a number alone.
std::string wide_hint(const Table& table) {
  std::map<std::string, std::size_t> stems;
  for (const auto& name : table.names) {
    const auto stem = name.substr(0, name.find_last_not_of("0123456789") + 1);
    if (stem != name && ++stems[stem] > 1)
      return "; or, where each column is a learner's, --column '" + stem + "*'";
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

TraceColumns choose_columns(const Table& table, const TraceRequest& request) {
  TraceColumns columns{asked_for(table, request), request.learner.value_or(""), "", ""};
  if (!request.learner) {
    columns.learner = learner_column(table);
    if (!columns.learner.empty()) columns.learner_why = "chosen by its name";
  }
  if (columns.times.size() > 1) {
    if (columns.learner.empty()) return columns;
    throw TraceError("learner_column",
                     table.file.string() + ": columns " + listed(columns.times) +
                         " would be a learner's each, but column " + columns.learner +
                         " says whose a row is",
                     "one --column, or --learner '' where a row is a round of all learners");
  }
  if (!columns.times.empty()) return columns;
  for (const auto& name : table.names) {
    const bool taken = name == columns.learner || name == request.cancelled;
    if (!taken && says_time(name)) columns.times.push_back(name);
  }
  columns.time_why = "chosen by its name";
  if (columns.times.size() == 1) return columns;
  throw TraceError(
      "column",
      table.file.string() + ": which column holds the times?  Say --column NAME; " +
          (columns.times.empty() ? "no column's name says time, ms, seconds or duration"
                                 : "more than one says so by its name: " + listed(columns.times)) +
          separator_hint(table),
      listed(table.names) + wide_hint(table));
}

}  // namespace gradrace
