#include "distributions/fit/trace_columns.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "distributions/fit/column_hints.h"
#include "distributions/fit/readers/column_words.h"

namespace gradrace {

namespace {

// Of columns that say whose a row is: learners, places of several, and what is told apart there.
constexpr std::string_view learner_words[] = {"learner",
                                              "worker",
                                              "global_rank",
                                              "rank_global",
                                              "world_rank",
                                              "rank",
                                              "replica",
                                              "trainer",
                                              "client",
                                              "participant",
                                              "dp_rank",
                                              "process_rank",
                                              "worker_rank",
                                              "mpi_rank",
                                              "hvd_rank",
                                              "horovod_rank",
                                              "ddp_rank",
                                              "peer",
                                              "data_parallel_rank",
                                              "cid",
                                              "silo",
                                              "rang",
                                              "rank_in_world"};
constexpr std::string_view place_words[] = {
    "node",    "machine", "host", "hostname", "host_name", "node_rank", "node_name", "instance",
    "rechner", "knoten",  "pod",  "pod_name", "ip",        "host_ip",   "node_ip",   "ip_address"};
constexpr std::string_view local_words[] = {
    "local_rank", "rank_local",  "gpu", "device", "gpu_rank", "accelerator", "cuda", "slot",
    "process",    "cuda_device", "pid", "tpu",    "core",     "tpu_core",    "proc"};
constexpr std::string_view step_words[] = {"step",   "iteration", "iter",      "round",
                                           "update", "batch",     "minibatch", "schritt",
                                           "steps",  "itr",       "it"};
constexpr std::string_view epoch_words[] = {"epoch"};

using Names = std::vector<std::string>;

std::vector<std::string_view> cells_of(const Table& table, const std::string& name) {
  return table.cells(
      static_cast<std::size_t>(std::ranges::find(table.names, name) - table.names.begin()));
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

/// Whether columns count or are of training alone.
bool are_of_training(const Table& table) {
  constexpr std::string_view words[] = {
      "epoch",    "step", "iter",   "iteration", "loss", "acc",   "accuracy",   "lr",
      "learning", "rate", "val",    "train",     "test", "valid", "validation", "error",
      "f1",       "auc",  "global", "batch",     "top1", "top5"};
  return std::ranges::all_of(table.names, [&](const auto& name) {
    return std::ranges::all_of(words_of(name), [&](const auto& word) {
      return std::ranges::find(words, word) != std::end(words);
    });
  });
}

/// "gpu*_time" of "gpu0_time".
std::string without_numbers(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) pattern += c;
    if (digit && !pattern.ends_with('*')) pattern += '*';
  }
  return pattern;
}

/// Refuses columns of two kinds ("gpu0_time", "gpu1_time", "gpu0_temp", "gpu1_temp") by one
/// pattern.
void refuse_two_kinds(const Table& table, const std::string& pattern, const Names& found) {
  std::map<std::string, std::size_t> kinds;
  for (const auto& name : found) ++kinds[without_numbers(name)];
  std::erase_if(kinds, [](const auto& kind) { return kind.second < 2; });
  if (kinds.size() < 2) return;
  std::string options;
  for (const auto& [kind, count] : kinds)
    options += (options.empty() ? "--column '" : "; --column '") + kind + "'";
  throw TraceError("column",
                   table.file.string() + ": --column " + shown(pattern) + " chooses columns of " +
                       std::to_string(kinds.size()) + " kinds: " + listed(found),
                   options);
}

/// Refuses numbered columns with another ("w0", "w1", "wall") by one pattern.
void refuse_odd(const Table& table, const std::string& pattern, const Names& found) {
  const Numbered numbered = numbered_in(found);
  if (numbered.stem.empty()) return;
  const auto odd = std::ranges::find_if(found, [&](const auto& name) {
    return name.substr(0, name.find_last_not_of("0123456789") + 1) != numbered.stem;
  });
  if (odd == found.end()) return;
  throw TraceError("column",
                   table.file.string() + ": --column " + shown(pattern) + " chooses " +
                       listed(found) + ", and " + *odd + " is not called like the others",
                   options_for(numbered, table.names) + "; or --column NAME for each");
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
    refuse_odd(table, pattern, found);
    refuse_two_kinds(table, pattern, found);
    for (const auto& name : found) {
      if (!is_among(columns, name)) columns.push_back(name);
    }
  }
  return columns;
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

bool is_of_learners(std::string_view word) {
  return std::ranges::find(learner_words, word) != std::end(learner_words);
}

/// "worker" of "Worker ID" and "workers", "local_rank" of "localRank"; empty of "gpu0".
std::string called(const std::string& name) {
  constexpr std::string_view behind[] = {"id", "index", "idx", "name", "uuid", "ordinal", "nr"};
  if (name.find_first_of("0123456789") != std::string::npos) return {};
  auto words = words_of(name);
  if (words.size() == 1 && words.front().size() > 3 && words.front().ends_with('s') &&
      is_of_learners(words.front().substr(0, words.front().size() - 1)))
    words.front().pop_back();
  if (words.size() > 1 && has_word({words.back()}, behind)) words.pop_back();
  std::string joined;
  for (const auto& word : words) joined += (joined.empty() ? "" : "_") + word;
  return joined;
}

/// Whether whole numbers are not 0, 1, 2 or 1, 2, 3 and so on, as learners are counted.
bool has_gaps(const Table& table, const std::string& name) {
  std::set<double> numbers;
  for (const auto cell : cells_of(table, name))
    if (double number = 0; parse_number(cell, number)) numbers.insert(number);
  return !numbers.empty() && (*numbers.begin() > 1 || *numbers.rbegin() - *numbers.begin() + 1 >
                                                          static_cast<double>(numbers.size()));
}

/// The first column, in the order of the words, that is called so; empty: none.
std::string column_called(const Table& table, std::span<const std::string_view> words) {
  for (const auto word : words) {
    for (const auto& name : table.names) {
      const bool is_its = called(name) == word || (word == "worker" && called(name) == "workerid");
      const bool counts = says_of_cluster(name) && has_gaps(table, name);
      if (is_its && !counts && may_name(table, name)) return name;
    }
  }
  return {};
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

/// Rows that agree in these columns.
double rows_of_each(const Table& table, Names columns, const std::string& step) {
  columns.push_back(step);
  if (const auto epoch = counter(table, epoch_words, columns); !epoch.empty())
    columns.push_back(epoch);
  return static_cast<double>(table.rows.size()) /
         static_cast<double>(how_many(learner_names(table, columns)));
}

/// A rank counts from 0 on each place where steps show it, or where nothing tells otherwise.
Names with_place(const Table& table, const std::string& rank) {
  const auto place = column_called(table, place_words);
  if (place.empty()) return {rank};
  const Names both{place, rank};
  const std::size_t pairs = how_many(learner_names(table, both));
  if (pairs == how_many(learner_names(table, {rank})) || 3 * pairs > table.rows.size())
    return {rank};
  if (const auto step = counter(table, step_words, both); !step.empty())
    return rows_of_each(table, {rank}, step) >= 1.5 ? both : Names{rank};
  return both;
}

Names learner_columns(const Table& table) {
  if (const auto name = column_called(table, learner_words); !name.empty())
    return with_place(table, name);
  const auto place = column_called(table, place_words), local = column_called(table, local_words);
  if (place.empty()) return local.empty() ? Names{} : Names{local};
  if (local.empty()) return {place};
  const Names both{place, local};
  const std::size_t pairs = how_many(learner_names(table, both));
  const bool tells = pairs > how_many(learner_names(table, {place}));
  return tells && 3 * pairs <= table.rows.size() ? both : Names{place};
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
  if (durations && candidates.size() > 0 &&
      std::ranges::count(candidates, candidates.front()) == std::ssize(candidates))
    return table.names[table.column(candidates.front(), "column")];
  if (candidates.empty() && are_of_training(table))
    throw TraceError("column", table.file.string() + ": has no times, but " + listed(table.names),
                     "a row for each step with its time, as a callback logs it from the step's "
                     "begin to its end");
  throw TraceError(
      "column",
      table.file.string() + ": which column holds the times?  Say --column NAME; " +
          (candidates.empty() ? "no column's name says time, ms, seconds or duration"
           : durations        ? "more than one says so by its name: " + listed(candidates)
                       : "those that say so are of a begin or an end: " + listed(candidates)),
      listed(table.names) + hints_of_times(table));
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
  if (rate != columns.times.end() && request.items == 0 && !request.durations) {
    throw TraceError("column",
                     table.file.string() + ": column " + *rate + " is a rate by its name, no time",
                     "--rate ITEMS, how many a minibatch has: it lasts ITEMS over the rate; or "
                     "--durations where it holds times all the same");
  }
  Names others = columns.times;
  others.insert(others.end(), columns.learners.begin(), columns.learners.end());
  columns.step = counter(table, step_words, others);
  columns.epoch = counter(table, epoch_words, others);
  return columns;
}

}  // namespace gradrace
