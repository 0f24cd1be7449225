#include "distributions/fit/rows/row_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>
#include <tuple>

#include "distributions/fit/readers/cell_time.h"
#include "distributions/fit/readers/column_words.h"
#include "distributions/fit/structure.h"
#include "sim/message_text.h"

namespace gradrace {

namespace {

constexpr std::string_view kind_words[] = {
    "name",  "op",    "optype", "operation", "event",    "kind",    "type",
    "phase", "stage", "split",  "mode",      "category", "kernel",  "range",
    "label", "task",  "part",   "activity",  "function", "section", "region"};

// Of columns that say no learner, although few whole numbers or texts come again in them.
constexpr std::string_view other_words[] = {
    "step",    "steps",   "iteration", "iter",   "itr",   "it",      "round",      "update",
    "batch",   "epoch",   "epochs",    "ep",     "loss",  "acc",     "accuracy",   "error",
    "lr",      "rate",    "size",      "length", "len",   "count",   "num",        "total",
    "mem",     "memory",  "bytes",     "mb",     "gb",    "seed",    "temp",       "util",
    "tokens",  "samples", "norm",      "scale",  "world", "version", "repeat",     "trial",
    "fold",    "year",    "month",     "day",    "hour",  "minute",  "microbatch", "micro",
    "schritt", "power",   "status"};

constexpr std::string_view setting_words[] = {"size",  "length", "len",  "world",   "count", "num",
                                              "trial", "repeat", "fold", "version", "seed"};

using Names = std::vector<std::string>;

/// Whether times differ between kinds far beyond chance, by Kruskal and Wallis's H, which has the
/// mean K - 1 and the variance 2 (K - 1) where they do not.
bool times_differ(const NameKinds& kinds, const std::vector<double>& times) {
  const auto ranks = centred_ranks(times);
  const auto n = static_cast<double>(ranks.size());
  std::vector<double> sums(kinds.names.size());
  for (std::size_t row = 0; row < ranks.size(); ++row) sums[kinds.of[row]] += n * ranks[row];
  double h = 0;
  for (std::size_t kind = 0; kind < sums.size(); ++kind)
    h += 12 / (n * (n + 1)) * sums[kind] * sums[kind] / static_cast<double>(kinds.counts[kind]);
  const double free = static_cast<double>(sums.size()) - 1;
  return h > free + 6 * std::sqrt(2 * free);
}

/// Whether times of one kind are nearly all shorter than those of another: of kinds in the order of
/// their medians nine tenths below nine tenths of the next.
bool hardly_overlap(const NameKinds& kinds, const std::vector<double>& times) {
  std::vector<std::vector<double>> of(kinds.names.size());
  for (std::size_t row = 0; row < times.size(); ++row) {
    if (!std::isnan(times[row])) of[kinds.of[row]].push_back(times[row]);
  }
  if (std::ranges::any_of(of, &std::vector<double>::empty)) return false;
  const auto at = [](const std::vector<double>& sorted, double p) {
    return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size() - 1))];
  };
  for (auto& one : of) std::ranges::sort(one);
  std::ranges::sort(of, {}, [&](const auto& one) { return at(one, 0.5); });
  return std::ranges::adjacent_find(of, [&](const auto& one, const auto& next) {
           return at(one, 0.9) >= at(next, 0.1);
         }) == of.end();
}

/// Whether each learner has rows of one kind alone.
bool told_by_learner(const NameKinds& kinds, const Names& learners) {
  std::map<std::string, std::size_t> of;
  for (std::size_t row = 0; row < learners.size(); ++row) {
    if (of.emplace(learners[row], kinds.of[row]).first->second != kinds.of[row]) return false;
  }
  return true;
}

class RowCheck {
 public:
  RowCheck(const Table& table, const TraceColumns& columns, const TraceRequest& request,
           const std::vector<double>& times)
      : table_(table),
        columns_(columns),
        request_(request),
        times_(times),
        learners_(learner_names(table, columns.learners)) {}

  void check_kinds() const {
    for (const bool called_so : {true, false}) {
      for (std::size_t column = 0; column < table_.names.size(); ++column) {
        const auto& name = table_.names[column];
        const bool numbers = is_setting(column);
        if (is_used(name) || (!numbers && has_word(words_of(name), kind_words)) != called_so)
          continue;
        const auto kinds = numbers ? kinds_of(table_.cells(column), 1) : kinds_in(column);
        if (kinds.names.size() < 2 || told_by_learner_of_several(kinds)) continue;
        const bool of_cluster = numbers && says_of_cluster(name);
        if (called_so ? kinds.counts[1] < 2
                      : (20 * kinds.counts[1] < table_.rows.size() || !times_differ(kinds, times_)))
          continue;
        if (!numbers || of_cluster || hardly_overlap(kinds, times_)) refuse_kinds(name, kinds);
      }
    }
  }

  void check_steps() const {
    if (columns_.step.empty() || columns_.times.size() > 1 || request_.chooses_by(columns_.step) ||
        (request_.learners && columns_.learners.empty()))
      return;
    const double rows = rows_a_step({});
    if (rows < 1.5 && columns_.learners.empty() && !request_.learners &&
        rows_a_step({}, false) >= 1.5) {
      const std::size_t passes = std::ranges::max(columns_.places, {}, &StepPlace::pass).pass;
      throw TraceError("learner_column",
                       table_.file.string() + ": column " + columns_.step + " goes back " +
                           count_text(passes, "time") +
                           ": are the rows of several learners, one after the other, or of one "
                           "that began again?",
                       "--learner COLUMN, or --learner '' where all rows are one learner's");
    }
    if (rows < 1.5) return;
    Names tell;  // columns that tell the rows of a step apart
    for (std::size_t column = 0; column < table_.names.size(); ++column) {
      const auto& name = table_.names[column];
      if (!is_used(name) && !says_time(name) && 2 * number_of(column) <= table_.rows.size() &&
          rows_a_step(name) < 1.1)
        tell.push_back(name);
    }
    const std::string whose = columns_.learners.empty() ? "" : " of a learner";
    throw TraceError(
        "learner_column",
        table_.file.string() + ": a step" + whose + " has " + short_number(rows, 2) +
            " rows on average, by column " + columns_.step + ": whose are they, or of what?" +
            (tell.empty() ? "" : "  Told apart by: " + listed(tell)),
        "--learner COLUMN (again for more: of columns together), --sum-by " + columns_.step +
            " for the parts of a step, --where COLUMN=PATTERN for some rows, or --where '" +
            columns_.step + "=*' for all as they are; the columns: " + listed(table_.names));
  }

  /// Asks where no column says whose rows are and one may.
  void check_learners() const {
    if (!columns_.learners.empty() || request_.learners || columns_.times.size() > 1) return;
    for (std::size_t column = 0; column < table_.names.size(); ++column) {
      const auto& name = table_.names[column];
      if (is_used(name) || !may_be_learners(column)) continue;
      throw TraceError("learner_column",
                       table_.file.string() + ": does a column say whose a row is?  Column " +
                           name + " has " + std::to_string(number_of(column)) +
                           " values that come again and again",
                       "--learner '" + name +
                           "' where these are learners, --learner '' where "
                           "all rows are one learner's, or --where '" +
                           name + "=PATTERN' for those that are minibatches");
    }
  }

 private:
  /// Whether a column has few numbers, each of several rows, and counts nothing.
  bool is_setting(std::size_t column) const {
    constexpr std::size_t most = 8, fewest_rows = 5;
    const auto& name = table_.names[column];
    const auto words = words_of(name);
    if (request_.differences || says_time(name) || says_stamp(name) || is_rate(name) ||
        (has_word(words, other_words) && !has_word(words, setting_words)))
      return false;
    std::map<std::string_view, std::size_t> counts;
    for (const auto cell : table_.cells(column)) {
      ++counts[cell];
      if (!is_number(cell) || counts.size() > most) return false;
    }
    return std::ranges::min(counts | std::views::values) >= fewest_rows;
  }

  /// Whether a column has few texts or whole numbers, about equally often.
  bool may_be_learners(std::size_t column) const {
    constexpr std::size_t fewest = 5;  // rows of each
    const auto& name = table_.names[column];
    const auto words = words_of(name);
    if (has_word(words, other_words) || says_time(name) || says_stamp(name) || says_begin(name) ||
        says_end(name) || is_rate(name))
      return false;
    std::map<std::string_view, std::size_t> counts;
    for (const auto cell : table_.cells(column)) {
      double number = 0;
      if (is_blank(cell) || (parse_number(cell, number) && number != std::floor(number)))
        return false;
      ++counts[cell];
      if (fewest * counts.size() > table_.rows.size()) return false;
    }
    const auto [least, most] = std::ranges::minmax(counts | std::views::values);
    return counts.size() > 1 && least >= fewest && most <= 3 * least;
  }

  bool is_used(const std::string& name) const {
    const auto is_in = [&](const Names& names) {
      return std::ranges::find(names, name) != names.end();
    };
    return name.empty() || is_in(columns_.times) || is_in(columns_.learners) ||
           name == columns_.step || name == columns_.epoch || name == request_.cancelled ||
           name == request_.begin || name == request_.end || request_.chooses_by(name);
  }

  std::size_t number_of(std::size_t column) const {
    const auto cells = table_.cells(column);
    return std::set<std::string_view>(cells.begin(), cells.end()).size();
  }

  /// Of a column of texts of which each kind comes again; else of none.
  NameKinds kinds_in(std::size_t column) const {
    const auto cells = table_.cells(column);
    const bool texts = std::ranges::none_of(cells, [](std::string_view cell) {
      return is_blank(cell) || cell_time(cell, DecimalMark::point).has_value() ||
             cell_time(cell, DecimalMark::comma).has_value();
    });
    if (!texts) return {};
    auto kinds = kinds_of(cells, std::max<std::size_t>(1, number_of_learners()));
    return 3 * kinds.names.size() <= cells.size() ? kinds : NameKinds{};
  }

  std::size_t number_of_learners() const {
    return std::set<std::string>(learners_.begin(), learners_.end()).size();
  }

  bool told_by_learner_of_several(const NameKinds& kinds) const {
    return !columns_.learners.empty() && told_by_learner(kinds, learners_);
  }

  /// Rows that share a learner, a step and, unless it is empty, the cell of a column; their mean.
  double rows_a_step(const std::string& column, bool by_pass = true) const {
    const auto cells = learner_names(table_, column.empty() ? Names{} : Names{column});
    std::set<std::tuple<std::string, StepPlace, std::string>> different;
    for (std::size_t row = 0; row < cells.size(); ++row) {
      const auto& [pass, epoch, step] = columns_.places[row];
      different.emplace(learners_[row], StepPlace{by_pass ? pass : 0, epoch, step}, cells[row]);
    }
    return static_cast<double>(cells.size()) / static_cast<double>(different.size());
  }

  [[noreturn]] void refuse_kinds(const std::string& name, const NameKinds& kinds) const {
    const std::string step = columns_.step.empty() ? "STEP" : columns_.step;
    const std::string quoted = "'" + name;
    if (std::ranges::all_of(kinds.names,
                            [](auto& one) { return seconds_of_unit(one).has_value(); }))
      throw TraceError("where",
                       table_.file.string() + ": column " + name + " has " +
                           std::to_string(kinds.names.size()) +
                           " units of time: " + kinds_text(kinds, times_),
                       "a table in one unit; or the rows of one, as --where " + quoted + "=" +
                           kinds.names.front() + "'");
    throw TraceError(
        "where",
        table_.file.string() + ": rows are of " + std::to_string(kinds.names.size()) +
            " kinds by column " + name +
            ", and a law is fitted to minibatches: " + kinds_text(kinds, times_),
        "--where " + quoted +
            "=PATTERN' for those that are minibatches (* is any text), --sum-by " + step +
            " where all of a step together are one, " +
            (columns_.learners.empty() ? "--learner " + quoted + "' where they are learners, "
                                       : "") +
            "or --where " + quoted + "=*' where every row is a minibatch");
  }

  const Table& table_;
  const TraceColumns& columns_;
  const TraceRequest& request_;
  const std::vector<double>& times_;
  const Names learners_;
};

}  // namespace

void check_rows(const Table& table, const TraceColumns& columns, const TraceRequest& request,
                const std::vector<double>& times) {
  if (!request.sum_by.empty()) return;
  const RowCheck check(table, columns, request, times);
  check.check_kinds();
  check.check_steps();
  check.check_learners();
}

}  // namespace gradrace
