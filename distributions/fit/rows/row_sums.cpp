#include "distributions/fit/rows/row_sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "sim/message_text.h"

namespace gradrace {

namespace {

/// When a row begins and ends.
struct RowRange {
  std::size_t row;
  double begin, end;
};

struct NestedRows {
  std::vector<std::size_t> inner;  // rows whose range lies within another's
  std::size_t crossing = 0;        // ranges that begin within another and end after it
};

/// Of ranges of one sum.  Of equal ones the first is the outer one.  An end may be later than the
/// outer's by a thousandth of the range, as of rounded times.
NestedRows nested_rows(std::vector<RowRange> ranges) {
  constexpr double rounding = 1e-3;
  std::ranges::stable_sort(ranges, [](const RowRange& one, const RowRange& other) {
    return one.begin != other.begin ? one.begin < other.begin : one.end > other.end;
  });
  NestedRows result;
  double outer_end = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto& [row, begin, end] = ranges[i];
    const double slack = rounding * (end - begin);
    if (i == 0 || begin + slack >= outer_end) {
      outer_end = i == 0 ? end : std::max(end, outer_end);
    } else if (end <= outer_end + slack) {
      result.inner.push_back(row);
    } else {
      ++result.crossing;
      outer_end = end;
    }
  }
  return result;
}

}  // namespace

RowSeries RowSums::of(const RowSeries& series, const RowBegins& ranges) {
  const Names& key_of = keys();
  const std::set<std::size_t> inner = inner_rows(series, ranges);
  std::map<std::string, std::size_t> at;
  RowSeries result;
  std::vector<std::size_t> rows;
  for (const auto& one : series) {
    const auto [found, is_new] = at.emplace(key_of[one.row], result.size());
    if (is_new) result.push_back({one.row, 0});
    rows.resize(result.size());
    ++rows[found->second];
    if (!inner.contains(one.row)) result[found->second].time += one.time;
  }
  for (const std::size_t count : rows) ++sums_of_[count];
  std::erase_if(result, [](const RowTime& one) { return one.time == 0; });
  return result;
}

std::set<std::size_t> RowSums::inner_rows(const RowSeries& series, const RowBegins& ranges) {
  const auto &begins = ranges.begins(), &ends = ranges.ends();
  std::set<std::size_t> inner;
  if (begins.empty()) return inner;
  std::map<std::string, std::vector<RowRange>> sums;
  for (const auto& [row, time] : series) {
    const double begin = begins[row], end = ends.empty() ? begin + time : ends[row];
    if (std::isfinite(begin) && std::isfinite(end)) sums[keys_[row]].push_back({row, begin, end});
  }
  std::size_t crossing = 0;
  for (auto& [key, its] : sums) {
    const NestedRows nested = nested_rows(std::move(its));
    inner.insert(nested.inner.begin(), nested.inner.end());
    crossing += nested.crossing;
  }
  crossing_ += crossing;
  if (ends.empty() && crossing > 0) return {};  // perhaps of another unit than the times
  inner_ += inner.size();
  return inner;
}

const RowSums::Names& RowSums::keys() {
  if (!keys_.empty()) return keys_;
  for (const auto& name : request_.sum_by) table_.column(name, "sum-by");
  keys_ = learner_names(table_, request_.sum_by);
  const auto& sum_by = request_.sum_by;
  const std::string& epoch = columns_.epoch;
  if (!epoch.empty() && std::ranges::find(sum_by, epoch) == sum_by.end()) {
    const auto epochs = learner_names(table_, {epoch});
    std::map<std::string, std::string> of;
    for (std::size_t row = 0; row < epochs.size(); ++row) {
      if (of.emplace(keys_[row], epochs[row]).first->second != epochs[row]) {
        throw TraceError("sum-by",
                         table_.file.string() + ": rows of the same " + listed(sum_by) +
                             " are of different " + epoch + "s",
                         "--sum-by " + epoch + " --sum-by " + listed(sum_by));
      }
    }
  }
  if (std::ranges::find(sum_by, columns_.step) == sum_by.end()) return keys_;
  for (std::size_t row = 0; row < keys_.size(); ++row)
    keys_[row] += "/" + std::to_string(columns_.places[row].pass);
  return keys_;
}

void RowSums::tell(const RowBegins& ranges, std::vector<std::string>& notes) const {
  notes.push_back(
      "times are sums over rows of the same " + listed(request_.sum_by) + " of a learner" +
      (ranges.column().empty() ? "; no column says when rows begin, and a row that lies within "
                                 "another one counts twice: leave such out by --where"
                               : ""));
  tell_lacking(notes);
  if (inner_ > 0)
    notes.push_back("left out: " + count_text(inner_, "row") +
                    " within another of the same sum, by column " + ranges.column());
  if (crossing_ > 0)
    notes.push_back(count_text(crossing_, "row") + " begin, by column " + ranges.column() +
                    ", before another of the same sum ends: the time of both counts twice");
}

/// Where most sums are of as many rows, and some of fewer.
void RowSums::tell_lacking(std::vector<std::string>& notes) const {
  std::size_t sums = 0, fewer = 0;
  const auto usual = std::ranges::max_element(sums_of_, {}, [](auto& one) { return one.second; });
  for (const auto& [rows, count] : sums_of_) {
    sums += count;
    fewer += rows < usual->first ? count : 0;
  }
  if (fewer > 0 && 2 * usual->second > sums)
    notes.push_back(std::to_string(fewer) + " of " + count_text(sums, "sum") +
                    " are of fewer rows than " + std::to_string(usual->first) +
                    ", as where a part was not logged: they come out too short");
}

}  // namespace gradrace
