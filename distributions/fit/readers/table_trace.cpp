#include "distributions/fit/readers/table_trace.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

#include "distributions/fit/readers/column_words.h"
#include "distributions/fit/readers/file_names.h"
#include "distributions/fit/readers/found_table.h"
#include "distributions/fit/readers/log_pattern.h"
#include "distributions/fit/rows/row_times.h"
#include "distributions/fit/rows/step_places.h"
#include "sim/hash.h"
#include "sim/message_text.h"

namespace gradrace {

namespace fs = std::filesystem;

namespace {

constexpr const char* file_column = "file";

std::string in_brackets(const std::string& why) { return why.empty() ? "" : " (" + why + ")"; }

/// A column that may say which minibatches were cancelled.
std::string cancelled_column(const Table& table) {
  constexpr std::array<std::string_view, 10> words{
      "cancel", "cancelled", "canceled", "censored",    "censor",
      "abort",  "aborted",   "killed",   "interrupted", "dropped"};
  const auto found = std::ranges::find_if(
      table.names, [&](const auto& name) { return has_word(words_of(name), words); });
  return found == table.names.end() ? "" : *found;
}

/// Of "completed", the opposite of what --censored asks for.
bool says_finished(const std::string& name) {
  constexpr std::string_view words[] = {"done", "finished", "completed", "complete",
                                        "ok",   "success",  "succeeded", "whole"};
  return has_word(words_of(name), words);
}

FoundTable table_in(const fs::path& file, std::string_view text, const TraceRequest& request) {
  if (!request.pattern.empty()) return matched_table(file, text, request.pattern);
  const auto begin = trimmed(without_mark(text.substr(0, text.find('\n'))));
  const bool records = begin.starts_with('{') || begin.starts_with('[') || begin.starts_with(":::");
  if (records) return record_table(file, text);
  for (const std::string_view words : {"_bucket{", "Profiler Report"})
    if (text.find(words) != text.npos)
      throw TraceError("path", file.string() + ": sums up times, as " + shown(words) + " says",
                       "a row or a line for each minibatch");
  if (const std::string options = log_options(text); !options.empty())
    throw TraceError("path", file.string() + ": is a log, and no table", options);
  return separated_table(file, text);
}

/// Without what colours a terminal: ESC [ ... letter.
void leave_out_colours(std::string& text) {
  constexpr std::string_view begin = "\x1B[";
  std::size_t at = text.find(begin);
  if (at == std::string::npos) return;
  std::string rest = text.substr(0, at);
  while (at < text.size()) {
    const std::size_t letter = text.find_first_not_of("0123456789;:?", at + begin.size());
    const std::size_t from = std::min(letter, text.size() - 1) + 1;
    at = std::min(text.find(begin, from), text.size());
    rest.append(text, from, at - from);
  }
  text = std::move(rest);
}

/// A carriage return alone ends a line too, as in a log of progress bars.
FoundTable table_in(const TraceText& file, const TraceRequest& request) {
  std::string text = file.text;
  leave_out_colours(text);
  for (std::size_t at = 0; (at = text.find('\r', at)) != std::string::npos; ++at) {
    if (at + 1 < text.size() && text[at + 1] != '\n') text[at] = '\n';
  }
  FoundTable found = table_in(file.file, text, request);
  found.plain = found.plain && text == file.text;
  return found;
}

/// What is said where 20 rows that follow each other, 10 different ones among them, stand in two
/// files; empty: none do.
std::string repeated_text(const Table& table, const std::vector<std::string>& of) {
  constexpr std::size_t width = 20, fewest = 10;
  std::vector<std::uint64_t> rows;
  for (const auto& row : table.rows) {
    Hash hash;
    for (const auto& cell : row) hash.add_bytes(cell + '\n');
    rows.push_back(hash.value());
  }
  constexpr std::size_t most = 100'000;  // windows that are kept
  const std::size_t one_in = 1 + rows.size() / most;
  std::unordered_map<std::uint64_t, std::size_t> seen;  // [hash of a window] its first row
  for (std::size_t row = 0; row + width <= rows.size(); ++row) {
    const auto window = std::span(rows).subspan(row, width);
    Hash hash;
    for (const std::uint64_t one : window) hash.add(one);
    if (of[row] != of[row + width - 1] || hash.value() % one_in != 0) continue;
    const std::size_t first = seen.emplace(hash.value(), row).first->second;
    if (of[first] != of[row] &&
        std::set<std::uint64_t>(window.begin(), window.end()).size() >= fewest)
      return "rows that begin in line " + std::to_string(table.lines[row]) + " of " + of[row] +
             " stand in " + of[first] + " too, from line " + std::to_string(table.lines[first]) +
             " on, as where a file is given twice or logs overlap: intervals take them for twice "
             "as "
             "many; give each row once";
  }
  return {};
}

/// Rows of all, with a column that says of which file they are.
FoundTable joined_tables(const std::vector<TraceText>& files, const TraceRequest& request) {
  FoundTable all = table_in(files.front(), request);
  if (files.size() == 1) return all;
  const auto names = names_of_files(files);
  Hash hash;
  const auto columns = all.table.names;
  std::vector<std::string> of(all.table.rows.size(), names.front());
  for (std::size_t i = 0; i < files.size(); ++i) {
    hash.add_bytes(files[i].text);
    if (i == 0) continue;
    FoundTable next = table_in(files[i], request);
    if (next.table.names != columns || next.units != all.units) {
      throw TraceError(
          "path",
          files[i].file.string() + ": has other columns than " + files.front().file.string(),
          listed(columns));
    }
    of.resize(of.size() + next.table.rows.size(), names[i]);
    std::ranges::move(next.table.rows, std::back_inserter(all.table.rows));
    std::ranges::move(next.table.lines, std::back_inserter(all.table.lines));
  }
  all.repeated = repeated_text(all.table, of);
  if (std::ranges::find(columns, file_column) == columns.end()) {
    all.table.names.emplace_back(file_column);
    if (!all.units.empty()) all.units.emplace_back();
    for (std::size_t row = 0; row < of.size(); ++row) all.table.rows[row].push_back(of[row]);
  }
  all.table.hash = hash.hex();
  all.plain = false;
  all.notes.push_back("rows of " + count_text(files.size(), "file"));
  return all;
}

/// 2834 of "2.834k", a rate.
void read_thousands(Table& table, const TraceColumns& columns) {
  for (const auto& name : columns.times) {
    const std::size_t column = table.column(name, "column");
    for (auto& row : table.rows) {
      const std::string_view cell = trimmed(row[column]);
      double rate = 0;
      if (cell.empty() || !parse_number(cell.substr(0, cell.size() - 1), rate)) continue;
      if (cell.back() == 'k' || cell.back() == 'K') row[column] = number_text(1e3 * rate);
      if (cell.back() == 'M') row[column] = number_text(1e6 * rate);
    }
  }
}

void refuse_together(const TraceRequest& request) {
  const bool changed = request.differences || !request.sum_by.empty() || request.items > 0;
  if (!request.cancelled.empty() && changed) {
    throw TraceError("censored",
                     "--censored belongs to times as they are, not to differences, sums or rates",
                     "one --column");
  }
  if (request.begin.empty() != request.end.empty())
    throw TraceError("begin", "--begin and --end belong together", "both, or neither");
  if (!request.begin.empty() && (request.differences || !request.columns.empty()))
    throw TraceError("begin", "--begin and --end say what the times are", "these, or --column");
}

bool is_plain(const FoundTable& found, const TraceColumns& columns, const TraceRequest& request) {
  const bool as_it_is = request.where.empty() && request.sum_by.empty() && request.begin.empty() &&
                        !request.differences && request.items == 0 && request.skip == 0;
  if (!found.plain || !as_it_is || columns.times.size() > 1 || columns.learners.size() > 1)
    return false;
  const auto is_bare = [](const std::string& cell) { return trimmed(cell) == cell; };
  if (!columns.learners.empty()) {
    const std::size_t column = found.table.column(columns.learners.front(), "learner_column");
    if (!std::ranges::all_of(found.table.rows,
                             [&](const auto& row) { return is_bare(row[column]); }))
      return false;
  }
  const std::size_t column = found.table.column(columns.times.front(), "column");
  return std::ranges::all_of(found.table.rows,
                             [&](const auto& row) { return is_number(row[column]); });
}

/// Whether each learner has all steps from its first to its last, as where processes begin again
/// under other names.
bool come_one_after_other(const Table& table, const TraceColumns& columns,
                          const std::map<StepPlace, std::size_t>& steps) {
  const auto names = learner_names(table, columns.learners);
  std::map<std::string, std::set<StepPlace>> of;
  for (std::size_t row = 0; row < names.size(); ++row) of[names[row]].insert(columns.places[row]);
  return std::ranges::all_of(of, [&](const auto& learner) {
    const auto& [name, its] = learner;
    const auto all = std::distance(steps.find(*its.begin()), steps.find(*its.rbegin())) + 1;
    return 20 * std::ssize(its) >= 19 * all;
  });
}

/// How many learners a step has, where nearly all steps have as many and some come again; 0: they
/// have not, or no column counts steps.
std::size_t learners_a_step(const Table& table, const TraceColumns& columns) {
  constexpr std::size_t fewest_steps = 8;
  if (columns.step.empty() || columns.learners.empty()) return 0;
  std::map<StepPlace, std::size_t> rows;
  for (const auto& place : columns.places) ++rows[place];
  if (come_one_after_other(table, columns, rows)) return 0;
  std::map<std::size_t, std::size_t> steps;  // [rows of a step]
  for (const auto& [step, count] : rows) ++steps[count];
  const auto most = std::ranges::max_element(steps, {}, [](const auto& one) { return one.second; });
  if (most->first == 1) return 0;  // the column numbers rows
  return rows.size() >= fewest_steps && 10 * most->second >= 9 * rows.size() ? most->first : 0;
}

void tell_passes(const TraceColumns& columns, std::vector<std::string>& notes) {
  if (columns.places.empty()) return;
  const std::size_t passes = std::ranges::max(columns.places, {}, &StepPlace::pass).pass;
  if (passes > 0)
    notes.push_back("column " + columns.step + " goes back " + count_text(passes, "time") +
                    " in a learner's rows, as in a new epoch or where a job goes on from a "
                    "checkpoint: steps that come again then are other minibatches");
}

}  // namespace

ReadTrace table_trace(const std::vector<TraceText>& files, const TraceRequest& request) {
  refuse_together(request);
  if (!request.step.empty()) {
    throw TraceError(
        "step", files.front().file.string() + ": --step names an event of a JSON file of events",
        "--column NAME for a CSV file");
  }
  FoundTable found = joined_tables(files, request);
  if (!found.rate.empty() && request.items == 0)
    throw TraceError("pattern",
                     found.table.file.string() + ": what --pattern matches is a rate, as " +
                         shown(found.rate) + " stands beside it",
                     "--rate ITEMS, how many a minibatch has (1 of steps or iterations)");
  if (are_of_summary(found.table.names) ||
      std::ranges::find(found.table.names, "algbw") != found.table.names.end())
    throw TraceError(
        "path",
        found.table.file.string() + ": sums up times (columns " + listed(found.table.names) +
            "): a row is what many calls of one kernel, range or collective took, and no minibatch",
        "a row for each minibatch, as of nsys stats --report nvtx_pushpop_trace --format csv, of "
        "nvprof --print-gpu-trace --csv, or of a trace that the profiler exports");
  choose_rows(found.table, request.where);
  TraceColumns columns = choose_columns(found.table, request);
  if (files.size() > 1 && columns.learners.empty() && !request.learners) {
    columns.learners = {file_column};
    columns.learner_why = "a file a learner";
  }
  columns.places = step_places(found.table, columns);
  tell_passes(columns, found.notes);
  if (request.items > 0) read_thousands(found.table, columns);
  const bool wide = columns.times.size() > 1;
  if (wide && !request.cancelled.empty()) {
    throw TraceError("censored",
                     files.front().file.string() +
                         ": a column that says which minibatches were cancelled "
                         "belongs to one column of times",
                     "one --column");
  }
  ReadTrace result{trace_of_rows(found, columns, request), {}};
  TraceSource& source = result.source;
  source.times = listed(columns.times);
  source.learner = listed(columns.learners);
  source.times_told =
      (wide ? "columns " : "column ") + source.times + in_brackets(columns.time_why);
  if (!request.begin.empty())
    source.times_told = "columns from " + request.begin + " to " + request.end;
  source.learner_told = wide ? "one a column"
                        : columns.learners.empty()
                            ? "no column, all times are one learner's"
                            : (columns.learners.size() > 1 ? "columns " : "column ") +
                                  source.learner + in_brackets(columns.learner_why);
  source.one_column = is_plain(found, columns, request);
  source.notes = found.notes;
  source.average = found.average;
  source.said = found.said;
  if (columns.learners.empty() && !columns.step.empty()) source.said.push_back(columns.step);
  source.repeated = found.repeated;
  if (says_finished(request.cancelled))
    source.notes.push_back(
        "1 in column " + request.cancelled +
        " is taken for a minibatch that was cancelled, and its name says that one "
        "was finished: if so, turn it round");
  if (!request.cancelled.empty()) return result;
  source.cancelled_hint = cancelled_column(found.table);
  const std::size_t a_step = learners_a_step(found.table, columns);
  if (a_step < result.trace.series.size()) source.learners_a_step = a_step;
  return result;
}

}  // namespace gradrace
