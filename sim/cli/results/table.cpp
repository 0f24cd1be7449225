#include "sim/cli/results/table.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <sstream>
#include <tuple>
#include <utility>

#include "sim/cli/standard_streams.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace {

using Cells = std::vector<std::string>;

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

/// Characters, not bytes.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// The mean of a sample, which has values, and half of its 95 % interval by Student's t:
/// t_{0.975, n-1} sd / sqrt(n); NaN of one value.
struct SampleMean {
  double mean, margin = not_known;

  explicit SampleMean(std::span<const double> values) {
    const auto n = static_cast<double>(values.size());
    mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    if (values.size() < 2) return;
    double squares = 0;
    for (const double x : values) squares += (x - mean) * (x - mean);
    const double sd = std::sqrt(squares / (n - 1));
    margin = boost::math::quantile(boost::math::students_t(n - 1), 0.975) * sd / std::sqrt(n);
  }
};

/// "mean ± half of its 95 % interval" of the numbers that are applicable, the mean alone where they
/// are equal, and how many these are if not all.
std::string spread(const std::vector<double>& values) {
  std::vector<double> known;
  std::ranges::copy_if(values, std::back_inserter(known), [](double x) { return !std::isnan(x); });
  if (known.empty()) return "-";
  const SampleMean sample(known);
  const std::string of =
      known.size() < values.size()
          ? " (" + std::to_string(known.size()) + " of " + std::to_string(values.size()) + ")"
          : "";
  if (known.size() == 1 || !(sample.margin > 1e-12 * std::abs(sample.mean)))
    return short_number(sample.mean) + of;
  const bool is_plain = sample.margin >= 100 && sample.margin < 1e6;  // else "1.4e+02"
  char text[64];
  std::snprintf(text, sizeof text, is_plain ? "%.0f ± %.0f" : "%.4g ± %.2g", sample.mean,
                sample.margin);
  return text + of;
}

/// " (2 diverged)"
std::string of_these(std::size_t count, const std::string& what) {
  return count > 0 ? " (" + std::to_string(count) + " " + what + ")" : "";
}

/// " (6 points x 10 replicas, 1.3 s)".
std::string heading(const Scenario& scenario, std::optional<double> elapsed) {
  char seconds[32] = "";
  if (elapsed) std::snprintf(seconds, sizeof seconds, ", %.1f s", *elapsed);
  return " (" + count_text(scenario.points.size(), "point") + " x " +
         count_text(scenario.replicas(), "replica") + seconds + ")\n\n";
}

/// How much later than the level the times to a target may be; empty where no run came to it.
std::string resolution(const std::vector<RunSummary>& summaries, std::size_t target) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const RunSummary& run : summaries) {
    if (target >= run.target_intervals.size() || std::isnan(run.target_intervals[target])) continue;
    least = std::min(least, run.target_intervals[target]);
    most = std::max(most, run.target_intervals[target]);
  }
  if (least > most) return {};
  return least == most ? short_number(least) : short_number(least) + " to " + short_number(most);
}

std::string resolutions(const Scenario& scenario, const std::vector<RunSummary>& summaries) {
  const auto targets = targets_of(scenario.first());
  const std::string unit = scenario.first().time_unit;
  std::string text;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const std::string interval = resolution(summaries, t);
    if (interval.empty()) continue;
    text += "  " + targets[t].column +
            ": the time of the first evaluation at that level or below, which may be up to " +
            interval + (unit.empty() ? "" : " " + unit) + " too late\n";
  }
  return text;
}

/// What became of minibatches whose gradients entered no update.
std::string fates(const std::vector<RunSummary>& summaries) {
  Totals sum;
  for (const RunSummary& run : summaries) {
    sum.dispatched += run.totals.dispatched;
    sum.cancelled += run.totals.cancelled;
    sum.dropped += run.totals.dropped;
    sum.lost += run.totals.lost;
  }
  std::string text;
  const auto tell = [&](std::uint64_t count, std::string_view fate, std::string_view meaning) {
    if (count == 0) return;
    const double share = 100 * static_cast<double>(count) / static_cast<double>(sum.dispatched);
    text += "  " + std::string(fate) + " (" + short_number(share, 2) +
            " % of minibatches): " + std::string(meaning) + "\n";
  };
  tell(sum.cancelled, "cancelled", "stopped early, as the update did not wait for them");
  tell(sum.dropped, "dropped", "computed, and thrown away by the server as too late");
  tell(sum.lost, "lost", "in the hands of a learner when it failed, or taken back to a checkpoint");
  return text;
}

std::string explanations(const Scenario& scenario, const std::vector<RunSummary>& summaries) {
  const auto some = [&](Status status) {
    return std::ranges::count(summaries, status, &RunSummary::status) > 0;
  };
  std::string text = "  mean ± half of its 95 % interval (Student's t) over replicas; times in " +
                     time_unit_text(scenario.first()) + "\n";
  text += resolutions(scenario, summaries) + fates(summaries);
  if (some(Status::diverged)) {
    text += "  diverged: the loss was infinite or NaN, and the run ended there\n";
  }
  if (some(Status::deadlocked)) {
    text +=
        "  deadlocked: learners waited for each other in a circle, and the run ended there "
        "(runs.csv, reason); its final errors are not in the means\n";
  }
  return text;
}

/// Lines that are no longer than the terminal.
std::string fitted(const std::string& text, std::optional<std::size_t> width) {
  if (!width) return text;
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) result += wrapped(line, 0, 4, *width);
  return result;
}

constexpr int always = 100;

/// A column of the table; the less is kept, the sooner it is left out of a narrow one.
struct Shown {
  std::string title;
  int kept;
  std::function<std::string(std::size_t point, const std::vector<const RunSummary*>& runs)> cell;
  std::string of = {};  // what stands to its left and it is the theory of
};

std::vector<const RunSummary*> runs_of(const Scenario& scenario,
                                       const std::vector<RunSummary>& summaries,
                                       std::size_t point) {
  std::vector<const RunSummary*> runs;
  for (std::size_t r = 0; r < scenario.replicas(); ++r) {
    const RunSummary& run = summaries[point * scenario.replicas() + r];
    if (run.status != Status::interrupted) runs.push_back(&run);
  }
  return runs;
}

/// NaN where a deadlock ended the run.
double error_of(const RunSummary& run, double RunSummary::*error) {
  return run.status == Status::deadlocked ? not_known : run.*error;
}

/// How good points look: by the time to the last target that any run reached, else by the final
/// test error, the final loss, or gradients per unit of time; where that is not known by the final
/// test error or loss.
class Ranking {
 public:
  Ranking(const Scenario& scenario, const std::vector<RunSummary>& summaries)
      : scenario_(scenario), summaries_(summaries) {
    const auto targets = targets_of(scenario.first());
    for (std::size_t i = 0; i < targets.size(); ++i)
      try_out(targets[i].column, [i](const RunSummary& run) { return run.target_times[i]; });
    const auto by_error = [](double RunSummary::*error) {
      return [error](const RunSummary& run) { return error_of(run, error); };
    };
    if (!value_) try_out("final test error", by_error(&RunSummary::test_error));
    if (!value_) try_out("final loss", by_error(&RunSummary::loss));
    if (!value_) try_out("gradients/time", [](const RunSummary& run) { return -run.pace; });
  }

  const std::string& name() const { return name_; }
  std::size_t with_runs() const { return with_runs_; }
  /// All points that have runs, in their order; of many those that are named, the best of each
  /// protocol, and the best others.
  std::vector<std::size_t> shown(const std::vector<std::size_t>& named);

 private:
  using Value = std::function<double(const RunSummary&)>;

  void try_out(const std::string& name, const Value& value) {
    const bool is_known = std::ranges::any_of(summaries_, [&](const RunSummary& run) {
      return run.status != Status::interrupted && !std::isnan(value(run));
    });
    if (is_known) name_ = name, value_ = value;
  }
  /// How many runs have no value, the mean of the others, and that of final errors.
  std::tuple<std::size_t, double, double> place(const std::vector<const RunSummary*>& runs) const {
    std::size_t without = 0;
    double sum = 0, errors = 0;
    for (const RunSummary* run : runs) {
      const double error = error_of(*run, &RunSummary::test_error);
      errors += std::isnan(error) ? error_of(*run, &RunSummary::loss) : error;
      const double value = value_ && run->status != Status::diverged ? value_(*run) : not_known;
      without += std::isnan(value);
      if (!std::isnan(value)) sum += value;
    }
    const auto known = static_cast<double>(runs.size() - without);
    constexpr double last = std::numeric_limits<double>::infinity();
    return {without, known > 0 ? sum / known : last, std::isnan(errors) ? last : errors};
  }

  static constexpr std::size_t most = 20;

  const Scenario& scenario_;
  const std::vector<RunSummary>& summaries_;
  std::string name_;
  Value value_;  // the less the better
  std::size_t with_runs_ = 0;
};

std::vector<std::size_t> Ranking::shown(const std::vector<std::size_t>& named) {
  std::vector<std::pair<std::tuple<std::size_t, double, double>, std::size_t>> ranked;
  for (std::size_t point = 0; point < scenario_.points.size(); ++point) {
    const auto runs = runs_of(scenario_, summaries_, point);
    if (!runs.empty()) ranked.emplace_back(place(runs), point);
  }
  with_runs_ = ranked.size();
  if (ranked.size() > most) {
    std::ranges::stable_sort(ranked);
    std::set<std::string> protocols;
    std::ranges::stable_partition(ranked, [&](const auto& one) {
      return protocols.insert(scenario_.points[one.second].protocol_name).second;
    });
    std::ranges::stable_partition(ranked, [&](const auto& one) {
      return std::ranges::find(named, one.second) != named.end();
    });
    ranked.resize(most);
  }
  std::vector<std::size_t> points;
  for (const auto& [place, point] : ranked) points.push_back(point);
  std::ranges::sort(points);
  return points;
}

/// "mean ± half of its interval" of a value of runs.
template <class Value>
auto spread_of(Value value) {
  return [value](std::size_t, const std::vector<const RunSummary*>& runs) {
    std::vector<double> values;
    for (const RunSummary* run : runs) values.push_back(value(*run));
    return spread(values);
  };
}

std::string counted(const std::vector<const RunSummary*>& runs) {
  const auto of_status = [&](Status status) {
    return static_cast<std::size_t>(
        std::ranges::count_if(runs, [&](const auto* run) { return run->status == status; }));
  };
  return std::to_string(runs.size()) + of_these(of_status(Status::diverged), "diverged") +
         of_these(of_status(Status::deadlocked), "deadlocked");
}

std::vector<Shown> columns_of(const Scenario& scenario, const std::vector<Theory>& theories,
                              const std::vector<RunSummary>& summaries) {
  std::vector<Shown> columns{
      {"point", always, [&](auto point, auto&) { return scenario.points[point].label.text(); }},
      {"iteration time", 6, spread_of([](auto& run) { return run.iteration_time; })},
      {"theory", 1,
       [&](auto point, auto&) { return estimate_text(theories[point].iteration_time); },
       " of iteration time"},
      {"gradients/time", 2, spread_of([](auto& run) { return run.pace; })},
      {"staleness", 4, spread_of([](auto& run) { return run.staleness; })},
      {"theory", 0,
       [&](auto point, auto&) {
         return theories[point].staleness ? short_number(*theories[point].staleness)
                                          : std::string("-");
       },
       " of staleness"}};
  const auto add_error = [&](const char* title, int kept, double RunSummary::*error) {
    const bool is_known = std::ranges::any_of(summaries, [&](const RunSummary& run) {
      return run.status != Status::interrupted && !std::isnan(run.*error);
    });
    if (!is_known) return;
    columns.push_back(
        {title, kept, spread_of([error](auto& run) { return error_of(run, error); })});
  };
  add_error("final test error", 8, &RunSummary::test_error);
  add_error("final loss", 5, &RunSummary::loss);
  const auto targets = targets_of(scenario.first());
  for (std::size_t t = 0; t < targets.size(); ++t)
    columns.push_back({targets[t].column, t + 1 == targets.size() ? 9 : 7,
                       spread_of([t](auto& run) { return run.target_times[t]; })});
  columns.push_back({"runs", 3, [](auto, auto& runs) { return counted(runs); }});
  return columns;
}

std::size_t width_of(const std::vector<Cells>& rows, std::size_t column) {
  std::size_t most = 0;
  for (const Cells& row : rows) most = std::max(most, width(printable(row[column])));
  return most + 2;
}

/// Leaves columns out of rows that are wider; their titles.
Cells fit(const std::vector<Shown>& columns, std::vector<Cells>& rows, std::size_t most) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) widths.push_back(width_of(rows, i));
  std::vector<bool> is_kept(columns.size(), true);
  std::size_t total = std::accumulate(widths.begin(), widths.end(), std::size_t{0});
  while (total > most) {
    std::size_t least = 0;
    for (std::size_t i = 1; i < columns.size(); ++i)
      if (is_kept[i] && columns[i].kept < columns[least].kept) least = i;
    if (columns[least].kept == always) break;
    is_kept[least] = false;
    total -= widths[least];
  }
  Cells left_out;
  for (std::size_t i = columns.size(); i-- > 0;) {
    if (is_kept[i]) continue;
    left_out.insert(left_out.begin(), columns[i].title + columns[i].of);
    for (Cells& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return left_out;
}

/// Below the rows: which points and columns there are besides.
std::string left_out_text(const Scenario& scenario, const Ranking& ranking, std::size_t shown,
                          bool with_named, const Cells& columns) {
  std::string text;
  if (shown < ranking.with_runs())
    text += "  " + std::to_string(shown) + " of " + count_text(ranking.with_runs(), "point") +
            ": " + (with_named ? "those that the answer names, " : "") +
            "the best of each protocol, and the best others, by " + ranking.name() +
            "; runs.csv has all\n";
  const std::size_t without = scenario.points.size() - ranking.with_runs();
  if (without > 0) text += "  no run has ended of " + count_text(without, "further point") + "\n";
  if (!columns.empty())
    text += "  this terminal has no room for " + joined(columns) + "; runs.csv has them\n";
  return text;
}

}  // namespace

std::string aligned(std::vector<Cells> rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = printable(row[i]);
      widths[i] = std::max(widths[i], width(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += "  " + row[i] + std::string(widths[i] - width(row[i]), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string estimate_text(const std::optional<Estimate>& estimate) {
  if (!estimate) return "-";
  constexpr const char* signs[] = {"", "<= ", ">= ", "~ "};  // in the order of Basis
  return signs[static_cast<std::size_t>(estimate->basis)] + short_number(estimate->value);
}

std::string time_unit_text(const Point& point) {
  return point.time_unit.empty() ? "the unit of the runtime distribution" : point.time_unit;
}

std::string named_title(const Point& point) {
  return printable(point.name + (point.title.empty() ? "" : ": " + point.title));
}

std::string closing_table(const Scenario& scenario, const std::vector<Theory>& theories,
                          const std::vector<RunSummary>& summaries, std::optional<double> elapsed,
                          std::optional<std::size_t> width, const std::vector<std::size_t>& named) {
  const std::vector<Shown> columns = columns_of(scenario, theories, summaries);
  Ranking ranking(scenario, summaries);
  const std::vector<std::size_t> points = ranking.shown(named);
  std::vector<Cells> rows(1);
  for (const Shown& column : columns) rows.front().push_back(column.title);
  for (const std::size_t point : points) {
    const auto runs = runs_of(scenario, summaries, point);
    Cells& row = rows.emplace_back();
    for (const Shown& column : columns) row.push_back(column.cell(point, runs));
  }
  const Cells left_out = width ? fit(columns, rows, *width) : Cells{};
  const std::string besides =
      left_out_text(scenario, ranking, points.size(), !named.empty(), left_out);
  return "\n" + named_title(scenario.first()) + heading(scenario, elapsed) + aligned(rows) +
         fitted((besides.empty() ? "" : "\n" + besides) + "\n" + explanations(scenario, summaries),
                width);
}

std::string note_of_drawings(bool will_plot) {
  return std::string("note: what was drawn of the files before (plots, report.html) is removed; ") +
         (will_plot ? "" : "gradrace plot and ") + "gradrace report draw it anew\n";
}

}  // namespace gradrace
