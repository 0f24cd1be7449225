#include "distributions/fit/readers/row_times.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "distributions/fit/readers/column_words.h"
#include "distributions/fit/readers/row_check.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

using Names = std::vector<std::string>;

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

std::string place(const Table& table, std::size_t row) {
  return table.file.string() + ":" + std::to_string(table.lines[row]) + ": ";
}

bool cancelled_in(const Table& table, std::size_t row, std::size_t column) {
  std::string cell(trimmed(table.rows[row][column]));
  for (char& c : cell) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (cell == "1" || cell == "true") return true;
  if (cell == "0" || cell == "false") return false;
  throw TraceError("censored",
                   place(table, row) + table.names[column] +
                       " must say whether the minibatch was cancelled, got " +
                       shown(table.rows[row][column]),
                   "1 or true (cancelled), 0 or false");
}

/// Numbers with commas are decimal ones, or have commas at thousands ("1,234"): both alike are
/// refused.
DecimalMark mark_of(const FoundTable& found, std::size_t column) {
  if (found.mark == DecimalMark::comma) return found.mark;
  bool commas = false, decimal = false;
  std::size_t first = 0;
  for (std::size_t row = 0; row < found.table.rows.size(); ++row) {
    const auto cell = trimmed(found.table.rows[row][column]);
    const auto comma = cell.find(',');
    if (comma == std::string_view::npos) continue;
    if (!std::exchange(commas, true)) first = row;
    const auto time = cell_time(cell, DecimalMark::comma);
    const bool thousand = comma > 0 && comma < 4 && cell.front() != '0' && cell.size() - comma == 4;
    decimal = decimal || (time && !thousand);
  }
  if (commas && !decimal) {
    throw TraceError("column",
                     place(found.table, first) + found.table.names[column] + " has " +
                         shown(found.table.rows[first][column]) +
                         ", whose comma may stand before decimals or between thousands",
                     "numbers with a decimal point");
  }
  return commas ? DecimalMark::comma : DecimalMark::point;
}

struct RowTime {
  std::size_t row;
  double time;
};
using Series = std::vector<RowTime>;

[[noreturn]] void refuse_time(const Table& table, std::size_t row, std::size_t column,
                              std::size_t more) {
  const std::string& cell = table.rows[row][column];
  throw TraceError(
      "column",
      place(table, row) + table.names[column] + " must be a time, got " + shown(cell) +
          (more > 0 ? "; so must " + std::to_string(more) + " more below" : "") +
          (is_blank(cell) ? "; blanks are read at the end of a learner's times alone" : ""),
      "a finite number > 0");
}

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
  std::vector<double> values_of(const std::string& name) {
    const bool positive =
        !request_.differences && request_.sum_by.empty() && request_.begin.empty();
    TimeColumn column = time_column(found_, name, positive);
    if (!request_.begin.empty()) {
      const TimeColumn begin = time_column(found_, request_.begin, false);
      for (std::size_t row = 0; row < column.values.size(); ++row)
        column.values[row] -= begin.values[row];
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
    if (column.seconds && !std::exchange(told_seconds_, true) && found_.units.empty())
      found_.notes.emplace_back("times are in seconds, by the units in the cells");
    return std::move(column.values);
  }

  /// Of the rows' values a learner's minibatches.
  void finish(const std::string& learner, Series& series) {
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
                       place(table_, bad->row) + "from " + request_.begin + " to " + request_.end +
                           " must be a time, got " + short_number(bad->time),
                       "a finite number > 0");
    }
    if (request_.items > 0) {
      for (auto& one : series) one.time = request_.items / one.time;
    }
    if (!request_.sum_by.empty()) series = sums(series);
  }

  bool is_good(double time) const {
    return std::isfinite(time) &&
           (request_.differences || time > 0 || (time == 0 && !request_.sum_by.empty()));
  }

  /// Of rows that agree in the columns of sum_by, in the order of the first.
  Series sums(const Series& series) const {
    const auto keys = sum_keys();
    std::map<std::string, std::size_t> at;
    Series result;
    for (const auto& one : series) {
      const auto [found, is_new] = at.emplace(keys[one.row], result.size());
      if (is_new) result.push_back({one.row, 0});
      result[found->second].time += one.time;
    }
    std::erase_if(result, [](const RowTime& one) { return one.time == 0; });
    return result;
  }

  const Names& sum_keys() const {
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
    return sum_keys_;
  }

  std::vector<double> steps_of(const Series& series) const {
    std::vector<double> steps;
    if (columns_.step.empty()) return steps;
    const std::size_t column = table_.column(columns_.step, "step");
    for (const auto& one : series) {
      steps.emplace_back();
      parse_number(trimmed(table_.rows[one.row][column]), steps.back());
    }
    return steps;
  }

  void difference() {
    bool restarts = false;
    std::size_t equal = 0, all = 0;
    double stride = 1;
    for (const auto& [learner, series] : series_) {
      for (std::size_t i = 1; i < series.size(); ++i, ++all) {
        restarts = restarts || series[i].time < series[i - 1].time;
        equal += series[i].time == series[i - 1].time;
      }
      const auto steps = steps_of(series);
      for (std::size_t i = 1; i < steps.size(); ++i)
        stride = std::max(stride, steps[i] - steps[i - 1]);
    }
    found_.notes.push_back(
        std::string("times are the differences of successive values of each learner") +
        (restarts ? "; a value below the one before began again at 0" : ""));
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
    for (auto& [learner, series] : series_) {
      std::vector<double> totals;
      for (const auto& one : series) totals.push_back(one.time);
      const auto times = differences_of(totals, steps_of(series), restarts);
      series.clear();
      for (const double time : times) series.push_back({0, time});
    }
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

  Trace made(bool wide) {
    if (request_.differences) difference();
    if (!request_.sum_by.empty())
      found_.notes.push_back("times are sums over rows of the same " + listed(request_.sum_by) +
                             " of a learner");
    Trace trace{table_.file, table_.hash, {}, {}};
    if (wide) {
      trace.learners = columns_.times;
    } else {
      for (const auto& [name, times] : series_) trace.learners.push_back(name);
      sort_learners(trace.learners);
    }
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
  bool told_seconds_ = false;
  std::map<std::string, Series> series_;  // by learner
  std::vector<std::pair<std::string, std::size_t>> blanks_;
  mutable Names sum_keys_;
};

}  // namespace

TimeColumn time_column(const FoundTable& found, const std::string& name, bool positive) {
  const Table& table = found.table;
  const std::size_t column = table.column(name, "column");
  const DecimalMark mark = mark_of(found, column);
  const auto is_bad = [&](const std::vector<std::string>& cells) {
    const auto time = cell_time(cells[column], mark);
    return !is_blank(cells[column]) &&
           !(time && std::isfinite(time->value) && (time->value > 0 || !positive));
  };
  const auto bad = std::ranges::find_if(table.rows, is_bad);
  if (bad != table.rows.end())
    refuse_time(table, static_cast<std::size_t>(bad - table.rows.begin()), column,
                static_cast<std::size_t>(std::count_if(bad + 1, table.rows.end(), is_bad)));
  TimeColumn result;
  std::size_t of_kind[3] = {}, first_of_kind[3] = {};
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const auto time = cell_time(table.rows[row][column], mark);
    const bool blank = is_blank(table.rows[row][column]);
    result.values.push_back(blank ? nothing : time->value);
    const auto kind = blank ? 0 : static_cast<std::size_t>(time->kind);
    if (!blank && of_kind[kind]++ == 0) first_of_kind[kind] = row;
  }
  const bool mixed = (of_kind[0] > 0) + (of_kind[1] > 0) + (of_kind[2] > 0) > 1;
  if (mixed) {
    const std::size_t row = of_kind[0] > 0 ? first_of_kind[0] : first_of_kind[2];
    throw TraceError("column",
                     place(table, row) + name + " is " + shown(table.rows[row][column]) +
                         ", which is not written like the others, with a unit or a date",
                     "units in all cells or in none");
  }
  result.stamps = of_kind[2] > 0;
  result.seconds = of_kind[0] == 0;
  if (found.units.empty() || of_kind[0] == 0) return result;
  const auto unit = seconds_of_unit(found.units[column]);
  if (!unit) return result;
  result.seconds = true;
  for (double& value : result.values) value *= *unit;
  return result;
}

std::vector<double> differences_of(const std::vector<double>& totals,
                                   const std::vector<double>& steps, bool restarts) {
  std::vector<double> times;
  double before = 0, step_before = 0;
  bool known = false;  // whether the total before is known
  for (std::size_t i = 0; i < totals.size();) {
    std::size_t end = i;  // of equal values
    while (end + 1 < totals.size() && totals[end + 1] == totals[i]) ++end;
    ++end;
    const bool begins = i == 0 || totals[i] < before;
    const double last_step = steps.empty() ? static_cast<double>(end - 1) : steps[end - 1];
    const auto count = static_cast<double>(end - i);
    if (begins) {
      // From 0, unless several steps were made until this value, or none is known to begin at 0.
      const bool one_a_value = steps.empty() || end >= steps.size() || steps[end] - last_step <= 1;
      known = true;
      if (restarts && totals[i] > 0 && one_a_value)
        times.insert(times.end(), end - i, totals[i] / count);
    } else if (known) {
      const double gone = last_step - step_before;
      times.insert(times.end(), end - i, (totals[i] - before) / (gone > 0 ? gone : count));
    }
    before = totals[i];
    step_before = last_step;
    i = end;
  }
  return times;
}

Trace trace_of_rows(FoundTable& found, const TraceColumns& columns, const TraceRequest& request) {
  return Maker(found, columns, request).trace();
}

}  // namespace gradrace
