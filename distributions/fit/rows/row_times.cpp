#include "distributions/fit/rows/row_times.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "distributions/fit/readers/cell_time.h"
#include "distributions/fit/readers/time_column.h"
#include "distributions/fit/rows/row_begins.h"
#include "distributions/fit/rows/row_check.h"
#include "distributions/fit/rows/row_differences.h"
#include "distributions/fit/rows/row_series.h"
#include "distributions/fit/rows/row_sums.h"
#include "distributions/fit/rows/row_values.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

using Names = std::vector<std::string>;

bool cancelled_in(const Table& table, std::size_t row, std::size_t column) {
  const std::string cell = lowercase(trimmed(table.rows[row][column]));
  if (cell == "1" || cell == "true") return true;
  if (cell == "0" || cell == "false") return false;
  throw TraceError("censored",
                   place_of(table, row) + table.names[column] +
                       " must say whether the minibatch was cancelled, got " +
                       shown(table.rows[row][column]),
                   "1 or true (cancelled), 0 or false");
}

/// Whether one time is an hour longer than the others, as where a clock is put forward in spring.
bool is_summer_time(std::span<const double> times) {
  constexpr double hour = 3600;
  const auto odd = std::ranges::max_element(times);
  double least = hour, most = 0;
  for (auto one = times.begin(); one != times.end(); ++one) {
    if (one == odd) continue;
    least = std::min(least, *one);
    most = std::max(most, *one);
  }
  return most < hour / 2 && *odd >= hour + least / 2 && *odd <= hour + 2 * most;
}

class Maker {
 public:
  Maker(FoundTable& found, const TraceColumns& columns, const TraceRequest& request)
      : found_(found),
        table_(found.table),
        columns_(columns),
        request_(request),
        values_(found, columns, request),
        sums_(found.table, columns, request) {}

  Trace trace() {
    const bool wide = columns_.times.size() > 1;
    const auto learners = learner_names(table_, columns_.learners);
    for (const auto& name : columns_.times) {
      column_ = table_.column(name, "column");
      const auto values = values_.of(name);
      if (name == columns_.times.front()) check_rows(table_, columns_, request_, values);
      for (std::size_t row = 0; row < values.size(); ++row)
        series_[wide ? name : learners[row]].push_back({row, values[row]});
      for (auto& [learner, series] : series_) {
        if (!wide || learner == name) finish(learner, series);
      }
    }
    tell_blanks();
    return made(wide);
  }

 private:
  /// Of the rows' values a learner's minibatches.
  void finish(const std::string& learner, RowSeries& series) {
    order(series);
    const auto steps = steps_of(series, columns_);
    for (std::size_t i = 1; i < steps.size(); ++i)
      if (steps[i] > steps[i - 1]) stride_ = std::min(stride_, steps[i] - steps[i - 1]);
    if (are_in_turn())
      std::erase_if(series, [](const RowTime& one) { return std::isnan(one.time); });
    const std::size_t rows = series.size();
    while (!series.empty() && std::isnan(series.back().time)) series.pop_back();
    if (series.size() < rows) blanks_.emplace_back(learner, rows - series.size());
    if (series.empty()) {
      throw TraceError("column",
                       table_.file.string() + ": learner " + shown(learner) + " has no time",
                       "--where 'COLUMN!=" + learner + "' for the others");
    }
    const auto is_bad = [&](const RowTime& one) { return !is_good(one.time); };
    const auto bad = std::ranges::find_if(series, is_bad);
    if (bad != series.end()) {
      const auto more = std::count_if(bad + 1, series.end(), is_bad);
      if (request_.begin.empty())
        refuse_time(table_, bad->row, column_, static_cast<std::size_t>(more));
      throw TraceError("begin",
                       place_of(table_, bad->row) + "from " + request_.begin + " to " +
                           request_.end + " must be a time, got " + short_number(bad->time),
                       "an end after its begin; stamps that pass midnight with their date, as "
                       "2026-03-03T23:58:00");
    }
    if (!request_.begin.empty() && request_.sum_by.empty()) tell_overlap(learner, series);
    if (request_.items > 0) {
      for (auto& one : series) one.time = request_.items / one.time;
    }
    if (!request_.sum_by.empty()) series = sums_.of(series, ranges());
  }

  /// Whether a row has a time of one of several columns alone, and which one it is changes.
  bool are_in_turn() {
    if (in_turn_ || columns_.times.size() < 2) return in_turn_.value_or(false);
    std::size_t alone = 0, changes = 0, last = columns_.times.size();
    for (const auto& row : table_.rows) {
      std::size_t count = 0, which = 0;
      for (std::size_t i = 0; i < columns_.times.size(); ++i) {
        if (is_blank(row[table_.column(columns_.times[i], "column")])) continue;
        ++count;
        which = i;
      }
      alone += count == 1;
      changes += count == 1 && std::exchange(last, which) != which;
    }
    in_turn_ = 20 * alone >= 19 * table_.rows.size() && 4 * changes > table_.rows.size();
    if (*in_turn_)
      found_.notes.emplace_back("a row has the time of one column, the others are blank");
    return *in_turn_;
  }

  /// Where a learner's minibatches begin before the one before ends.
  void tell_overlap(const std::string& learner, const RowSeries& series) {
    if (ranges().begins().empty() || ranges().ends().empty() || std::exchange(told_overlap_, true))
      return;
    const auto &begins = ranges().begins(), &ends = ranges().ends();
    std::size_t count = 0;
    for (std::size_t i = 1; i < series.size(); ++i) {
      const double slack = 0.1 * series[i].time;
      count += begins[series[i].row] + slack < ends[series[i - 1].row] &&
               begins[series[i].row] >= begins[series[i - 1].row];
    }
    told_overlap_ = 10 * count > series.size();
    if (told_overlap_)
      found_.notes.push_back(
          std::to_string(count) + " of " + count_text(series.size(), "row") +
          (learner.empty() ? "" : " of learner " + shown(learner)) +
          " begin before the one before ends: a learner makes one minibatch at a time, and is "
          "faster than these times say; --differences of the ends has the times from one to the "
          "next");
  }

  const RowBegins& ranges() {
    if (!ranges_) ranges_.emplace(found_, columns_, request_);
    return *ranges_;
  }

  /// By step; a total that rises as it stands is in order.
  void order(RowSeries& series) {
    const auto place = [&](const RowTime& one) { return columns_.places[one.row]; };
    if (columns_.places.empty() || std::ranges::is_sorted(series, {}, place) ||
        (request_.differences && std::ranges::is_sorted(series, {}, &RowTime::time)))
      return;
    std::set<StepPlace> different;
    for (const RowTime& one : series) different.insert(place(one));
    if (request_.sum_by.empty() && 2 * different.size() <= series.size()) return;  // they cycle
    std::ranges::stable_sort(series, {}, place);
    if (!std::exchange(told_order_, true))
      found_.notes.push_back("rows are put into the order of " + columns_.step);
    found_.plain = false;
  }

  bool is_good(double time) const {
    return std::isfinite(time) &&
           (request_.differences || time > 0 || (time == 0 && !request_.sum_by.empty()));
  }

  void tell_blanks() {
    if (blanks_.empty()) return;
    std::string text;
    for (const auto& [learner, count] : blanks_)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " of " +
              (learner.empty() ? "the rows" : learner);
    found_.notes.push_back("blank cells at the end left out, as of a learner that stopped: " +
                           text);
    found_.plain = false;
  }

  void check_clock(const Names& learners) {
    for (const auto& learner : learners) {
      std::vector<double> times;
      for (const auto& one : series_[learner]) times.push_back(one.time);
      if (!is_summer_time(times)) continue;
      const std::size_t odd =
          static_cast<std::size_t>(std::ranges::max_element(times) - times.begin());
      const bool rows = !request_.differences;
      throw TraceError(
          rows ? "begin" : "differences",
          (rows ? place_of(table_, series_[learner][odd].row) : table_.file.string() + ": ") +
              "a time is " + short_number(times[odd]) +
              " s, an hour longer than the others, and the stamps have no zone: as where summer "
              "time begins",
          (rows ? "--where '" + request_.begin + "!=" +
                      std::string(trimmed(table_.rows[series_[learner][odd].row]
                                                     [table_.column(request_.begin, "begin")])) +
                      "' for the others"
                : std::string("stamps with a zone, such as 2026-03-29T03:00:00+02:00")) +
              "; or --durations where it took so long");
    }
  }

  Trace made(bool wide) {
    if (request_.differences) take_differences(found_, columns_, values_.is_clock(), series_);
    if (!request_.sum_by.empty()) sums_.tell(ranges(), found_.notes);
    const bool shared = series_.size() > 1 && stride_ <= static_cast<double>(series_.size());
    if (stride_ > 1 && !shared && std::isfinite(stride_) && !request_.differences &&
        request_.begin.empty())
      found_.notes.push_back(
          "the column " + columns_.step + " goes on by " + short_number(stride_) +
          " or more: each time is taken for that of one step; where it is that of "
          "all since the row before, say --scale " +
          short_number(1 / stride_));
    Trace trace{table_.file, table_.hash, {}, {}};
    if (wide) {
      trace.learners = columns_.times;
    } else {
      for (const auto& [name, times] : series_) trace.learners.push_back(name);
      sort_learners(trace.learners);
    }
    if (values_.is_local() && !request_.durations) check_clock(trace.learners);
    const bool cancels = !request_.cancelled.empty();
    const std::size_t cancelled = cancels ? table_.column(request_.cancelled, "censored") : 0;
    for (const auto& name : trace.learners) {
      trace.series.emplace_back();
      if (cancels) trace.cancelled.emplace_back();
      for (const auto& one : series_[name]) {
        trace.series.back().push_back(one.time);
        if (cancels) trace.cancelled.back().push_back(cancelled_in(table_, one.row, cancelled));
      }
    }
    return trace;
  }

  FoundTable& found_;
  const Table& table_;
  const TraceColumns& columns_;
  const TraceRequest& request_;
  std::size_t column_ = 0;  // of the times that are made
  RowValues values_;
  RowSums sums_;
  std::optional<RowBegins> ranges_;          // made when they are asked for
  std::map<std::string, RowSeries> series_;  // by learner
  std::vector<std::pair<std::string, std::size_t>> blanks_;
  std::optional<bool> in_turn_;
  bool told_order_ = false, told_overlap_ = false;
  double stride_ = std::numeric_limits<double>::infinity();  // the least rise of steps
};

}  // namespace

Trace trace_of_rows(FoundTable& found, const TraceColumns& columns, const TraceRequest& request) {
  return Maker(found, columns, request).trace();
}

}  // namespace gradrace
