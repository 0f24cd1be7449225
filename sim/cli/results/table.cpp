#include "sim/cli/results/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace {

using Row = std::vector<std::string>;

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

/// Characters, not bytes.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// "mean ± sd" of the numbers that are applicable, and how many these are if not all.
std::string spread(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  std::size_t n = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++n;
  }
  if (n == 0) return "-";
  const double mean = sum / static_cast<double>(n);
  const std::string of =
      n < values.size() ? " (" + std::to_string(n) + " of " + std::to_string(values.size()) + ")"
                        : "";
  if (n == 1) return short_number(mean) + of;
  for (const double value : values) {
    if (!std::isnan(value)) squares += (value - mean) * (value - mean);
  }
  const double sd = std::sqrt(squares / static_cast<double>(n - 1));
  char text[64];
  std::snprintf(text, sizeof text, "%.4g ± %.2g", mean, sd > 1e-12 * std::abs(mean) ? sd : 0.0);
  return text + of;
}

std::string theory_text(const Theory& theory) {
  if (!theory.iteration_time) return "-";
  const Basis basis = theory.iteration_time->basis;
  const char* sign = basis == Basis::upper         ? "<= "
                     : basis == Basis::lower       ? ">= "
                     : basis == Basis::approximate ? "~ "
                                                   : "";
  return sign + short_number(theory.iteration_time->value);
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

}  // namespace

std::string aligned(std::vector<Row> rows) {
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
  Row header{"point", "iteration time", "theory", "gradients/time", "staleness", "theory"};
  for (const auto& column : errors) header.push_back(column.title);
  for (const auto& target : targets) header.push_back(target);
  header.push_back("runs");
  std::vector<Row> rows{header};
  std::size_t without_runs = 0;
  bool some_deadlocked = false;
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
    some_deadlocked = some_deadlocked || deadlocked > 0;
    const auto over_runs = [&](auto value) {
      std::vector<double> values;
      for (const auto* run : runs) values.push_back(value(*run));
      return spread(values);
    };
    Row row{scenario.points[p].label,
            over_runs([](const RunSummary& run) { return run.iteration_time; }),
            theory_text(theories[p]),
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
  const Point& first = scenario.first();
  char seconds[32];
  if (elapsed) {
    std::snprintf(seconds, sizeof seconds, ", %.1f s)\n\n", *elapsed);
  } else {
    std::snprintf(seconds, sizeof seconds, ")\n\n");
  }
  const std::string heading = " (" + count_text(scenario.points.size(), "point") + " x " +
                              count_text(replicas, "replica") + seconds;
  return "\n" + named_title(first) + heading + aligned(rows) +
         (without_runs > 0
              ? "\n  no run has ended of " + count_text(without_runs, "further point") + "\n"
              : "") +
         "\n  mean ± standard deviation over replicas; times in the unit of the runtime "
         "distribution\n" +
         (some_deadlocked
              ? "  deadlocked: learners waited for each other in a circle, and the run ended there "
                "(runs.csv, reason); its final errors are not in the means\n"
              : "");
}

}  // namespace gradrace
