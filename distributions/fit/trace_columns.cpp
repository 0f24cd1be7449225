#include "distributions/fit/trace_columns.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "distributions/fit/readers/cell_time.h"
#include "distributions/fit/readers/column_words.h"

namespace gradrace {

namespace {

// Of columns that say whose a row is: learners, places of several, and what is told apart there.
constexpr std::string_view learner_words[] = {
    "learner",           "worker", "global_rank", "world_rank", "rank",         "replica",
    "trainer",           "client", "participant", "dp_rank",    "process_rank", "worker_rank",
    "data_parallel_rank"};
constexpr std::string_view place_words[] = {"node",      "machine",   "host",
                                            "hostname",  "host_name", "node_rank",
                                            "node_name", "instance",  "rechner"};
constexpr std::string_view local_words[] = {
    "local_rank", "gpu", "device", "gpu_rank", "accelerator", "cuda", "slot", "process", "pid"};
constexpr std::string_view step_words[] = {"step",   "iteration", "iter",      "round",
                                           "update", "batch",     "minibatch", "schritt"};
constexpr std::string_view epoch_words[] = {"epoch"};

using Names = std::vector<std::string>;

std::vector<std::string_view> cells_of(const Table& table, const std::string& name) {
  const auto column =
      static_cast<std::size_t>(std::ranges::find(table.names, name) - table.names.begin());
  std::vector<std::string_view> cells;
  for (const auto& row : table.rows) cells.push_back(trimmed(row[column]));
  return cells;
}

std::size_t how_many(std::vector<std::string_view> cells) {
  std::ranges::sort(cells);
  return static_cast<std::size_t>(std::ranges::unique(cells).begin() - cells.begin());
}

std::size_t how_many(const Names& names) {
  return how_many(std::vector<std::string_view>(names.begin(), names.end()));
}

bool is_among(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

Names asked_for(const Table& table, const TraceRequest& request) {
  Names columns;
  for (const auto& pattern : request.columns) {
    Names found;
    for (const auto& name : table.names) {
      if (!is_among(table.names, pattern) && !name.empty() && matches(name, pattern))
        found.push_back(name);
    }
    if (found.empty()) found.push_back(table.names[table.column(pattern, "column")]);
    for (const auto& name : found) {
      if (!is_among(columns, name)) columns.push_back(name);
    }
  }
  return columns;
}

/// A hint where stamps or a rate could tell the times.
std::string other_hint(const Table& table) {
  const auto first = [&](const auto& says) {
    const auto found = std::ranges::find_if(table.names, says);
    return found == table.names.end() ? "" : *found;
  };
  const std::string begin = first(says_begin), end = first(says_end), rate = first(is_rate);
  const std::string stamp = first(
      [](const auto& name) { return says_stamp(name) && !says_begin(name) && !says_end(name); });
  std::string hint;
  if (!begin.empty() && !end.empty())
    hint += "; or, from one stamp to the other, --begin '" + begin + "' --end '" + end + "'";
  if (!stamp.empty()) hint += "; or, from row to row, --column '" + stamp + "' --differences";
  if (!rate.empty()) hint += "; or, of a rate, --column '" + rate + "' --rate ITEMS";
  return hint + "; or, of a log, --pattern REGEX";
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

bool is_whole(std::string_view cell) {
  double number = 0;
  return parse_number(cell, number) && number == std::floor(number);
}

/// Whether cells may name learners: texts or whole numbers, that come again.
bool may_name(const Table& table, const std::string& name) {
  const auto cells = cells_of(table, name);
  constexpr std::size_t few = 10;
  return std::ranges::none_of(cells,
                              [](auto cell) { return is_number(cell) && !is_whole(cell); }) &&
         (cells.size() < few || 2 * how_many(cells) <= cells.size());
}

/// "worker" of "Worker ID", "local_rank" of "localRank"; empty of "gpu0".
std::string called(const std::string& name) {
  constexpr std::string_view behind[] = {"id", "index", "idx", "name"};
  if (name.find_first_of("0123456789") != std::string::npos) return {};
  auto words = words_of(name);
  if (words.size() > 1 && has_word({words.back()}, behind)) words.pop_back();
  std::string joined;
  for (const auto& word : words) joined += (joined.empty() ? "" : "_") + word;
  return joined;
}

/// The first column, in the order of the words, that is called so; empty: none.
std::string column_called(const Table& table, std::span<const std::string_view> words) {
  for (const auto word : words) {
    for (const auto& name : table.names) {
      const bool is_its = called(name) == word || (word == "worker" && called(name) == "workerid");
      if (is_its && may_name(table, name)) return name;
    }
  }
  return {};
}

Names learner_columns(const Table& table) {
  if (const auto name = column_called(table, learner_words); !name.empty()) return {name};
  const auto place = column_called(table, place_words), local = column_called(table, local_words);
  if (place.empty()) return local.empty() ? Names{} : Names{local};
  if (local.empty()) return {place};
  const Names both{place, local};
  const std::size_t pairs = how_many(learner_names(table, both));
  const bool tells = pairs > how_many(learner_names(table, {place}));
  return tells && 3 * pairs <= table.rows.size() ? both : Names{place};
}

/// The first column, in the order of the words, that has one, counts, and is none of the others.
std::string counter(const Table& table, std::span<const std::string_view> words,
                    const Names& others) {
  constexpr std::string_view of_others[] = {"size", "per", "loss", "total"};
  for (const auto word : words) {
    for (const auto& name : table.names) {
      const auto its = words_of(name);
      if (!has_word(its, {&word, 1}) || has_word(its, of_others) || says_time(name) ||
          is_among(others, name))
        continue;
      const auto cells = cells_of(table, name);
      if (how_many(cells) > 1 && std::ranges::all_of(cells, is_whole)) return name;
    }
  }
  return {};
}

std::string chosen_time(const Table& table, const TraceRequest& request,
                        const TraceColumns& columns) {
  Names candidates;
  for (const auto& name : table.names) {
    if (says_time(name) && name != request.cancelled && !is_among(columns.learners, name))
      candidates.push_back(name);
  }
  const auto is_end = [](const auto& name) { return says_begin(name) || says_end(name); };
  const bool durations = !std::ranges::all_of(candidates, is_end);
  if (durations) std::erase_if(candidates, is_end);
  if (candidates.size() == 1 && durations) return candidates.front();
  throw TraceError(
      "column",
      table.file.string() + ": which column holds the times?  Say --column NAME; " +
          (candidates.empty() ? "no column's name says time, ms, seconds or duration"
           : durations        ? "more than one says so by its name: " + listed(candidates)
                       : "those that say so are of a begin or an end: " + listed(candidates)),
      listed(table.names) + wide_hint(table) + other_hint(table));
}

void choose_learners(const Table& table, const TraceRequest& request, TraceColumns& columns) {
  if (request.learners) {
    columns.learners = *request.learners;
    std::erase(columns.learners, "");
    for (const auto& name : columns.learners) table.column(name, "learner_column");
  } else {
    columns.learners = learner_columns(table);
    std::erase_if(columns.learners,
                  [&](const auto& name) { return is_among(columns.times, name); });
    if (!columns.learners.empty()) columns.learner_why = "chosen by its name";
  }
  if (columns.times.size() > 1 && !columns.learners.empty()) {
    throw TraceError("learner_column",
                     table.file.string() + ": columns " + listed(columns.times) +
                         " would be a learner's each, but column " + listed(columns.learners) +
                         " says whose a row is",
                     "one --column, or --learner '' where a row is a round of all learners");
  }
}

}  // namespace

bool TraceRequest::chooses_by(const std::string& column) const {
  return std::ranges::find(where, column, &RowPattern::column) != where.end();
}

Names learner_names(const Table& table, const Names& columns) {
  Names names(table.rows.size());
  for (const auto& column : columns) {
    const auto cells = cells_of(table, column);
    for (std::size_t row = 0; row < names.size(); ++row)
      names[row] += (column == columns.front() ? "" : "/") + std::string(cells[row]);
  }
  return names;
}

TraceColumns choose_columns(const Table& table, const TraceRequest& request) {
  TraceColumns columns;
  columns.times = asked_for(table, request);
  choose_learners(table, request, columns);
  if (!request.begin.empty()) {
    table.column(request.begin, "begin");
    columns.times = {table.names[table.column(request.end, "end")]};
  } else if (columns.times.empty()) {
    columns.times = {chosen_time(table, request, columns)};
    columns.time_why = "chosen by its name";
  }
  const auto rate = std::ranges::find_if(columns.times, is_rate);
  if (rate != columns.times.end() && request.items == 0) {
    throw TraceError("column",
                     table.file.string() + ": column " + *rate + " is a rate by its name, no time",
                     "--rate ITEMS, how many a minibatch has: it lasts ITEMS over the rate");
  }
  Names others = columns.times;
  others.insert(others.end(), columns.learners.begin(), columns.learners.end());
  columns.step = counter(table, step_words, others);
  columns.epoch = counter(table, epoch_words, others);
  return columns;
}

}  // namespace gradrace
