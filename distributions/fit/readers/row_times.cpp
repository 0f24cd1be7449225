#include "distributions/fit/readers/row_times.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "distributions/fit/readers/cell_time.h"
#include "distributions/fit/readers/column_words.h"
#include "distributions/fit/readers/differences.h"
#include "distributions/fit/readers/nested_rows.h"
#include "distributions/fit/readers/row_check.h"
#include "distributions/fit/readers/time_column.h"
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

/// Whether no zone stands behind a stamp's clock.
bool has_no_zone(std::string_view stamp) {
  return stamp.find_first_of("zZ+-U", std::min(stamp.find(':'), stamp.size())) ==
         std::string_view::npos;
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

struct RowTime {
  std::size_t row;
  double time;
};
using Series = std::vector<RowTime>;

class Maker {
 public:
  Maker(FoundTable& found, const TraceColumns& columns, const TraceRequest& request)
      : found_(found), table_(found.table), columns_(columns), request_(request) {}

  Trace trace() {
    const bool wide = columns_.times.size() > 1;
    const auto learners = learner_names(table_, columns_.learners);
    for (const auto& name : columns_.times) {
      column_ = table_.column(name, "column");
      const auto values = values_of(name);
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
  /// In seconds, by cells or name; 0: unknown.
  static double unit_of(const std::string& name, bool seconds) {
    double unit = seconds ? 1 : 0;
    for (const auto& word : words_of(name)) {
      if (!seconds) unit = seconds_of_unit(word).value_or(unit);
    }
    return unit;
  }

  /// Refuses columns of different units.
  void check_units(const std::string& name, bool seconds) {
    const double unit = unit_of(name, seconds);
    const auto& first = columns_.times.front();
    if (name == first) unit_ = {unit, seconds};
    const bool unknown = unit * unit_.first == 0 && seconds == unit_.second;
    if (unit == unit_.first || unknown) return;
    throw TraceError(
        "column",
        table_.file.string() + ": columns " + first + " and " + name + " are of different units",
        "columns of one unit, which is said in all cells or in none");
  }

  /// Of a column of whole numbers, one of which a double does not hold, as stamps in ns are; else
  /// empty.
  std::vector<std::int64_t> whole_numbers(std::size_t column) const {
    constexpr std::size_t digits = 16;
    std::vector<std::int64_t> numbers;
    bool is_long = false;
    for (const auto& row : table_.rows) {
      const auto cell = trimmed(row[column]);
      const char* const end = cell.data() + cell.size();
      std::int64_t number = 0;
      if (std::from_chars(cell.data(), end, number) != std::from_chars_result{end, std::errc()} ||
          number < 0)
        return {};
      is_long = is_long || cell.size() >= digits;
      numbers.push_back(number);
    }
    return is_long && found_.units.empty() ? numbers : std::vector<std::int64_t>();
  }

  std::vector<double> values_of(const std::string& name) {
    const bool positive =
        !request_.differences && request_.sum_by.empty() && request_.begin.empty();
    TimeColumn column = time_column(found_, name, positive);
    if (!request_.begin.empty()) {
      const TimeColumn begin = time_column(found_, request_.begin, false);
      const double from = unit_of(request_.begin, begin.seconds),
                   to = unit_of(name, column.seconds);
      if (from * to > 0 && from != to)
        throw TraceError("begin",
                         table_.file.string() + ": columns " + request_.begin + " and " + name +
                             " are of different units",
                         "columns of one unit");
      const auto whole = whole_numbers(column_),
                 whole_begin = whole_numbers(table_.column(request_.begin, "begin"));
      const bool exact = !whole.empty() && !whole_begin.empty();
      for (std::size_t row = 0; row < column.values.size(); ++row) {
        column.values[row] = exact ? static_cast<double>(whole[row] - whole_begin[row])
                                   : column.values[row] - begin.values[row];
      }
      if (begin.stamps != column.stamps) {
        throw TraceError("begin", table_.file.string() + ": one of " + request_.begin + " and " +
                                      name + " has dates, the other numbers");
      }
    } else if (column.stamps && !request_.differences) {
      throw TraceError(
          "column",
          table_.file.string() + ": column " + name + " has time stamps such as " +
              shown(table_.rows.front()[column_]),
          "--differences, for the times from each row to the next of its learner; or --begin "
          "COLUMN --end COLUMN");
    }
    if (const auto whole = whole_numbers(column_); request_.differences && !whole.empty()) {
      for (std::size_t row = 0; row < whole.size(); ++row)
        column.values[row] = static_cast<double>(whole[row] - whole.front());
    }
    check_units(name, column.seconds);
    clock_ = column.clock;
    local_ = column.stamps && has_no_zone(table_.rows.front()[column_]);
    if (!column.note.empty() && std::ranges::find(found_.notes, column.note) == found_.notes.end())
      found_.notes.push_back(column.note);
    if (column.seconds && !std::exchange(told_seconds_, true) && found_.units.empty())
      found_.notes.push_back("times are in seconds, by the units in the cells" +
                             clock_text(column));
    return std::move(column.values);
  }

  /// How a cell such as "1:25" was read; empty: there is none.
  std::string clock_text(const TimeColumn& column) const {
    for (std::size_t row = 0; row < column.values.size(); ++row) {
      const auto& cell = table_.rows[row][column_];
      if (cell.find(':') != cell.npos)
        return ", " + shown(cell) + " for " + short_number(column.values[row]);
    }
    return {};
  }

  /// Of the rows' values a learner's minibatches.
  void finish(const std::string& learner, Series& series) {
    order(series);
    const auto steps = steps_of(series);
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
    if (!request_.sum_by.empty()) series = sums(series);
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
  void tell_overlap(const std::string& learner, const Series& series) {
    if (begins().empty() || ends_.empty() || std::exchange(told_overlap_, true)) return;
    std::size_t count = 0;
    for (std::size_t i = 1; i < series.size(); ++i) {
      const double slack = 0.1 * series[i].time;
      count += begins_[series[i].row] + slack < ends_[series[i - 1].row] &&
               begins_[series[i].row] >= begins_[series[i - 1].row];
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

  /// By step; a total that rises as it stands is in order.
  void order(Series& series) {
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

  /// Of rows that agree in the columns of sum_by, in the order of the first.  A row that lies
  /// within another one counts with that.
  Series sums(const Series& series) {
    const Names& keys = sum_keys();
    const std::set<std::size_t> inner = inner_rows(series, keys);
    std::map<std::string, std::size_t> at;
    Series result;
    std::vector<std::size_t> rows;
    for (const auto& one : series) {
      const auto [found, is_new] = at.emplace(keys[one.row], result.size());
      if (is_new) result.push_back({one.row, 0});
      rows.resize(result.size());
      ++rows[found->second];
      if (!inner.contains(one.row)) result[found->second].time += one.time;
    }
    for (const std::size_t count : rows) ++sums_of_[count];
    std::erase_if(result, [](const RowTime& one) { return one.time == 0; });
    return result;
  }

  /// Where most sums are of as many rows, and some of fewer.
  void tell_lacking() {
    std::size_t sums = 0, fewer = 0;
    const auto usual = std::ranges::max_element(sums_of_, {}, [](auto& one) { return one.second; });
    for (const auto& [rows, count] : sums_of_) {
      sums += count;
      fewer += rows < usual->first ? count : 0;
    }
    if (fewer > 0 && 2 * usual->second > sums)
      found_.notes.push_back(std::to_string(fewer) + " of " + count_text(sums, "sum") +
                             " are of fewer rows than " + std::to_string(usual->first) +
                             ", as where a part was not logged: they come out too short");
  }

  std::set<std::size_t> inner_rows(const Series& series, const Names& keys) {
    std::set<std::size_t> inner;
    if (begins().empty()) return inner;
    std::map<std::string, std::vector<RowRange>> sums;
    for (const auto& [row, time] : series) {
      const double begin = begins_[row], end = ends_.empty() ? begin + time : ends_[row];
      if (std::isfinite(begin) && std::isfinite(end)) sums[keys[row]].push_back({row, begin, end});
    }
    std::size_t crossing = 0;
    for (auto& [key, ranges] : sums) {
      const NestedRows nested = nested_rows(std::move(ranges));
      inner.insert(nested.inner.begin(), nested.inner.end());
      crossing += nested.crossing;
    }
    crossing_ += crossing;
    if (ends_.empty() && crossing > 0) return {};  // perhaps of another unit than the times
    inner_ += inner.size();
    return inner;
  }

  /// [row] When it begins; empty: no column says so, in numbers like those of the times.
  const std::vector<double>& begins() {
    if (!begin_column_.empty() || std::exchange(sought_begin_, true)) return begins_;
    const auto named = [&](const auto& says, const std::string& other) -> std::string {
      const auto found = std::ranges::find_if(table_.names, [&](const std::string& name) {
        return says(name) && name != other &&
               std::ranges::find(columns_.times, name) == columns_.times.end();
      });
      return found == table_.names.end() ? "" : *found;
    };
    const bool given = !request_.begin.empty();
    std::string begin = given ? request_.begin : named(says_begin, "");
    if (begin.empty()) begin = named(says_stamp, "");
    const std::string end = given ? request_.end : named(says_end, begin);
    if (begin.empty()) return begins_;
    try {
      TimeColumn from = time_column(found_, begin, false);
      if (!end.empty()) {
        TimeColumn to = time_column(found_, end, false);
        if (to.stamps == from.stamps) ends_ = std::move(to.values);
      }
      if (ends_.empty() && from.stamps) return begins_;
      begins_ = std::move(from.values);
      begin_column_ = begin;
    } catch (const TraceError&) {  // a column that nobody asked for
      ends_.clear();
    }
    return begins_;
  }

  void tell_sums() {
    found_.notes.push_back(
        "times are sums over rows of the same " + listed(request_.sum_by) + " of a learner" +
        (begin_column_.empty() ? "; no column says when rows begin, and a row that lies within "
                                 "another one counts twice: leave such out by --where"
                               : ""));
    tell_lacking();
    if (inner_ > 0)
      found_.notes.push_back("left out: " + count_text(inner_, "row") +
                             " within another of the same sum, by column " + begin_column_);
    if (crossing_ > 0)
      found_.notes.push_back(
          count_text(crossing_, "row") + " begin, by column " + begin_column_ +
          ", before another of the same sum ends: the time of both counts twice");
  }

  const Names& sum_keys() {
    if (!sum_keys_.empty()) return sum_keys_;
    for (const auto& name : request_.sum_by) table_.column(name, "sum-by");
    sum_keys_ = learner_names(table_, request_.sum_by);
    const auto& sum_by = request_.sum_by;
    const std::string& epoch = columns_.epoch;
    if (!epoch.empty() && std::ranges::find(sum_by, epoch) == sum_by.end()) {
      const auto epochs = learner_names(table_, {epoch});
      std::map<std::string, std::string> of;
      for (std::size_t row = 0; row < epochs.size(); ++row) {
        if (of.emplace(sum_keys_[row], epochs[row]).first->second != epochs[row]) {
          throw TraceError("sum-by",
                           table_.file.string() + ": rows of the same " + listed(sum_by) +
                               " are of different " + epoch + "s",
                           "--sum-by " + epoch + " --sum-by " + listed(sum_by));
        }
      }
    }
    if (std::ranges::find(sum_by, columns_.step) == sum_by.end()) return sum_keys_;
    for (std::size_t row = 0; row < sum_keys_.size(); ++row)
      sum_keys_[row] += "/" + std::to_string(columns_.places[row].pass);
    return sum_keys_;
  }

  std::vector<double> steps_of(const Series& series) const {
    std::vector<double> steps;
    for (const auto& one : series) {
      if (!columns_.places.empty()) steps.push_back(columns_.places[one.row].step);
    }
    return steps;
  }

  /// Where a column counts what minibatches have, and goes on by unlike numbers from row to row.
  void tell_items() {
    for (std::size_t column = 0; column < table_.names.size(); ++column) {
      if (!counts_items(table_.names[column])) continue;
      double least = std::numeric_limits<double>::infinity(), most = 0;
      for (const auto& [learner, series] : series_) {
        for (std::size_t i = 1; i < series.size(); ++i) {
          double before = 0, now = 0;
          if (!parse_number(table_.rows[series[i - 1].row][column], before) ||
              !parse_number(table_.rows[series[i].row][column], now))
            continue;
          least = std::min(least, now - before);
          most = std::max(most, now - before);
        }
      }
      if (!(least > 0 && least < most)) continue;
      found_.notes.push_back("the column " + table_.names[column] + " goes on by " +
                             short_number(least) + " to " + short_number(most) +
                             ": differences are of so many, and are not divided by that; where "
                             "minibatches are equal, log each");
      return;
    }
  }

  void difference() {
    tell_items();
    std::size_t equal = 0, all = 0;
    double stride = 1;
    std::vector<RunningTotal> totals;
    for (const auto& [learner, series] : series_) {
      RunningTotal& its = totals.emplace_back();
      for (const auto& one : series) its.values.push_back(one.time);
      its.steps = steps_of(series);
      for (std::size_t i = 1; i < series.size(); ++i, ++all)
        equal += series[i].time == series[i - 1].time;
      for (std::size_t i = 1; i < its.steps.size(); ++i)
        stride = std::max(stride, its.steps[i] - its.steps[i - 1]);
    }
    const Differences found = differences_of(std::move(totals), clock_);
    tell_falls(found);
    if (equal > 0) {
      found_.notes.push_back(
          std::to_string(equal) + " of " + std::to_string(all) +
          " differences are 0, as of a clock that ticks too slowly: equal values share "
          "the time to the next, so that the mean is right and the spread is not");
    }
    if (stride > 1) {
      found_.notes.push_back(
          "the column " + columns_.step + " goes on by up to " + short_number(stride) +
          ": differences are divided by that, so that each is a mean over steps, which "
          "vary more");
    }
    auto times = found.times.begin();
    for (auto& [learner, series] : series_) {
      if (times->empty()) {
        throw TraceError("differences",
                         table_.file.string() + ": learner " + shown(learner) +
                             " has no value that follows another",
                         "--where 'COLUMN!=" + learner + "' for the others");
      }
      series.clear();
      for (const double time : *times++) series.push_back({0, time});
    }
  }

  void tell_falls(const Differences& found) {
    if (found.falls) {
      throw TraceError("differences",
                       table_.file.string() + ": " + listed(columns_.times) +
                           " falls from row to row, as the time that is left does",
                       "a column that rises: a running total, or stamps");
    }
    found_.notes.push_back(
        std::string("times are the differences of successive values of each learner") +
        (found.restarts > 0 ? "; a value far below the one before began again at 0" : ""));
    std::size_t differences = 0;
    for (const auto& times : found.times) differences += times.size();
    if (const std::size_t most = 20; found.left_out > most && 4 * found.left_out > differences) {
      throw TraceError("differences",
                       table_.file.string() + ": " + count_text(found.left_out, "difference") +
                           " of " + std::to_string(differences + found.left_out) +
                           " fall, and not to 0: the rows of a learner are not in the order of "
                           "their times",
                       "a file whose rows are sorted by the column, or --learner COLUMN where the "
                       "rows are of several learners");
    }
    if (found.midnights > 0)
      found_.notes.push_back("the clock goes over midnight " + count_text(found.midnights, "time") +
                             ": 24 h are added");
    if (found.unknown > 0)
      found_.notes.push_back("left out: the first value of " +
                             count_text(found.unknown, "learner") +
                             ", which is far from 0, as where a log begins later than its total");
    if (found.left_out > 0)
      found_.notes.push_back("left out: " + count_text(found.left_out, "difference") +
                             " in which the value falls, but not to 0, or the step goes back, but "
                             "not to the first: as "
                             "where a clock is set back or a job goes on from a checkpoint");
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
    if (request_.differences) difference();
    if (!request_.sum_by.empty()) tell_sums();
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
    if (local_ && !request_.durations) check_clock(trace.learners);
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
  bool told_seconds_ = false, told_order_ = false, told_overlap_ = false, clock_ = false,
       local_ = false;
  std::map<std::string, Series> series_;  // by learner
  std::vector<std::pair<std::string, std::size_t>> blanks_;
  Names sum_keys_;
  std::string begin_column_;
  std::pair<double, bool> unit_;  // of the first column; whether its cells are in seconds
  bool sought_begin_ = false;
  std::vector<double> begins_, ends_;  // [row]; empty: not known
  std::optional<bool> in_turn_;
  std::size_t inner_ = 0, crossing_ = 0;                     // rows of sums
  std::map<std::size_t, std::size_t> sums_of_;               // [rows] how many sums are of so many
  double stride_ = std::numeric_limits<double>::infinity();  // the least rise of steps
};

}  // namespace

Trace trace_of_rows(FoundTable& found, const TraceColumns& columns, const TraceRequest& request) {
  return Maker(found, columns, request).trace();
}

}  // namespace gradrace
