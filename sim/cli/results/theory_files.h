#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/results/csv_file.h"
#include "sim/cli/scenario/scenario.h"

namespace gradrace {

struct Traits;

/// What theory says of a point.
struct TheoryRow {
  TheoryRow(std::size_t number, const Point& of);

  void add_message();
  void compare(const Traits& traits, const Distribution& law);
  /// Where learners have laws of their own.
  void compare_with_sync();

  std::size_t point;
  const Point& at;
  std::uint32_t learners, k;
  Theory theory;
  std::optional<Estimate> speedup = {}, fresh = {}, stable_eta = {};
  std::optional<double> error_floor = {}, error_floor_bound = {}, largest_bounded_eta = {};
  std::string_view ageing = {};
  std::optional<double> sync_over_async = {}, waiting_over_working = {};
  std::optional<double> hiding_delay = {}, spectral_gap = {}, rho = {}, disagreement = {};
  std::optional<Estimate> over_all_reduce = {};
  std::optional<double> message_bytes = {}, message_error = {}, gather_break_even = {};
  std::optional<PlannedBits> bits = {};
  std::string not_known;
};

/// A place of a curve.
struct ErrorCurveRow {
  std::size_t point;
  double time;
  std::optional<double> loss;
  Basis basis;
  std::string source;
  std::uint64_t update;
  std::optional<double> squared_gradient;
};

/// What `gradrace theory` prints; swept: the paths of the sweep.
CsvFile<TheoryRow> theory_table(const std::vector<std::string>& swept);

/// theory.csv, and what `gradrace theory --curves` prints.
extern const CsvFile<ErrorCurveRow> theory_csv;

/// theories: [point].
std::vector<ErrorCurveRow> error_curve_rows(const Scenario& scenario,
                                            const std::vector<Theory>& theories);

}  // namespace gradrace
