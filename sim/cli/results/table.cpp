#include "sim/cli/results/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>

#include "sim/cli/results/sample_mean.h"
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

/// "mean ± half of its 95 % interval" of the numbers that are applicable, and how many these are if
/// not all.
std::string spread(const std::vector<double>& values) {
  std::vector<double> known;
  std::ranges::copy_if(values, std::back_inserter(known), [](double x) { return !std::isnan(x); });
  if (known.empty()) return "-";
  const SampleMean sample(known);
  const std::string of =
      known.size() < values.size()
          ? " (" + std::to_string(known.size()) + " of " + std::to_string(values.size()) + ")"
          : "";
  if (known.size() == 1) return short_number(sample.mean) + of;
  const double margin = sample.margin > 1e-12 * std::abs(sample.mean) ? sample.margin : 0.0;
  const bool is_plain = margin >= 100 && margin < 1e6;  // else "1.4e+02"
  char text[64];
  std::snprintf(text, sizeof text, is_plain ? "%.0f ± %.0f" : "%.4g ± %.2g", sample.mean, margin);
  return text + of;
}

/// An error that is tabulated of a run.
struct ErrorColumn {
  std::string title;
  double (*value)(const RunSummary&);
};

bool any(const std::vector<RunSummary>& summaries, double (*value)(const RunSummary&)) {
  return std::any_of(summaries.begin(), summaries.end(), [&](const RunSummary& run) {
    return run.status != Status::interrupted && !std::isnan(value(run));
  });
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
  const auto targets = target_columns(scenario.first());
  const std::string unit = scenario.first().time_unit;
  std::string text;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const std::string interval = resolution(summaries, t);
    if (interval.empty()) continue;
    text += "  " + targets[t] + ": of the first evaluation at that level or below, " + interval +
            (unit.empty() ? "" : " " + unit) + " after the one before\n";
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
  tell(sum.cancelled, "cancelled", "stopped before they were done, since an update did without");
  tell(sum.dropped, "dropped", "computed, and thrown away by the server as too late");
  tell(sum.lost, "lost", "in the hands of a learner when it failed");
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
                          const std::vector<RunSummary>& summaries, std::optional<double> elapsed) {
  std::vector<ErrorColumn> errors;
  for (const auto& column :
       {ErrorColumn{"final test error", [](const RunSummary& run) { return run.test_error; }},
        ErrorColumn{"final loss", [](const RunSummary& run) { return run.loss; }}}) {
    if (any(summaries, column.value)) errors.push_back(column);
  }
  const auto targets = target_columns(scenario.first());
  const std::size_t replicas = scenario.replicas();
  Cells header{"point", "iteration time", "theory", "gradients/time", "staleness", "theory"};
  for (const auto& column : errors) header.push_back(column.title);
  for (const auto& target : targets) header.push_back(target);
  header.push_back("runs");
  std::vector<Cells> rows{header};
  std::size_t without_runs = 0;
  for (std::size_t p = 0; p < scenario.points.size(); ++p) {
    std::vector<const RunSummary*> runs;
    std::size_t diverged = 0, deadlocked = 0;  // runs of the point
    for (std::size_t r = 0; r < replicas; ++r) {
      const RunSummary& run = summaries[p * replicas + r];
      if (run.status != Status::interrupted) runs.push_back(&run);
      diverged += run.status == Status::diverged;
      deadlocked += run.status == Status::deadlocked;
    }
    if (runs.empty()) {
      ++without_runs;
      continue;
    }
    const auto over_runs = [&](auto value) {
      std::vector<double> values;
      for (const auto* run : runs) values.push_back(value(*run));
      return spread(values);
    };
    Cells row{scenario.points[p].label,
              over_runs([](const RunSummary& run) { return run.iteration_time; }),
              estimate_text(theories[p].iteration_time),
              over_runs([](const RunSummary& run) { return run.pace; }),
              over_runs([](const RunSummary& run) { return run.staleness; }),
              theories[p].staleness ? short_number(*theories[p].staleness) : "-"};
    for (const auto& column : errors) {
      row.push_back(over_runs([&](const RunSummary& run) {
        return run.status == Status::deadlocked ? not_known : column.value(run);
      }));
    }
    for (std::size_t t = 0; t < targets.size(); ++t) {
      row.push_back(over_runs([t](const RunSummary& run) { return run.target_times[t]; }));
    }
    row.push_back(std::to_string(runs.size()) + of_these(diverged, "diverged") +
                  of_these(deadlocked, "deadlocked"));
    rows.push_back(std::move(row));
  }
  const std::string left_out =
      without_runs > 0
          ? "\n  no run has ended of " + count_text(without_runs, "further point") + "\n"
          : "";
  return "\n" + named_title(scenario.first()) + heading(scenario, elapsed) + aligned(rows) +
         left_out + "\n" + explanations(scenario, summaries);
}

std::string note_of_drawings(bool will_plot) {
  return std::string("note: what was drawn of the files before (plots, report.html) is removed; ") +
         (will_plot ? "" : "gradrace plot and ") + "gradrace report draw it anew\n";
}

}  // namespace gradrace
