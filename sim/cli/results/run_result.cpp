#include "sim/cli/results/run_result.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sim/cli/results/cells.h"
#include "sim/cli/results/run_files.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace {

// The parts of each struct in the order in which a store has them.

auto parts(Totals& of) {
  return std::tie(of.updates, of.dispatched, of.applied, of.dropped, of.cancelled, of.lost, of.time,
                  of.last_update_time, of.staleness_sum, of.max_staleness);
}
auto parts(EvaluationPoint& of) {
  return std::tie(of.time, of.update, of.gradients, of.epoch, of.learning_rate, of.k);
}
auto parts(Evaluation& of) {
  return std::tie(of.loss, of.test_loss, of.test_error, of.disagreement);
}
auto parts(CurvePoint& of) { return std::tie(of.point, of.evaluation); }
auto parts(Utilisation& of) { return std::tie(of.link, of.server); }
auto parts(Losses& of) { return std::tie(of.computing, of.unused, of.taken_back); }
auto parts(FailureCosts& of) { return std::tie(of.losses, of.useful); }
auto parts(OuterUpdates& of) { return std::tie(of.updates, of.staleness_sum, of.max_staleness); }
auto parts(RanOut& of) { return std::tie(of.file, of.learner, of.draws, of.times); }
auto parts(RunResult& of) {
  return std::tie(of.status, of.reason, of.totals, of.last, of.first_loss, of.gradients_computed,
                  of.hash, of.exchanged, of.utilisation, of.target_times, of.target_intervals,
                  of.ran_out);
}

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

/// Its cells, of lists with their size, of what may lack with whether it is there.
template <class T>
void put(std::string& bytes, T& value) {
  if constexpr (is_list<T>) {
    add_cell(bytes, value.size());
    for (auto& item : value) put(bytes, item);
  } else if constexpr (is_optional<T>) {
    add_cell(bytes, value.has_value());
    if (value) put(bytes, *value);
  } else if constexpr (std::is_floating_point_v<T>) {
    add_cell(bytes, OrNan{value});
  } else if constexpr (std::is_enum_v<T>) {
    add_cell(bytes, static_cast<unsigned>(value));
  } else if constexpr (std::is_constructible_v<Cell, T>) {
    add_cell(bytes, value);
  } else if constexpr (std::is_same_v<T, ExchangeTotals>) {
    for (const ExchangeColumn& column : exchange_columns) put(bytes, value.*column.of);
  } else {
    std::apply([&](auto&... part) { (put(bytes, part), ...); }, parts(value));
  }
}

constexpr const char* no_result = "it holds no result of a run";
constexpr std::string_view outer_mark = "outer";  // before what is of a coordinator

Cell take(std::string_view& bytes, CellType type) {
  Cell cell;
  if (!take_cell(bytes, cell) || cell.type != type) throw std::runtime_error(no_result);
  return cell;
}

template <class T>
void get(std::string_view& bytes, T& value) {
  if constexpr (is_list<T>) {
    const std::uint64_t size = take(bytes, CellType::integer).integer;
    if (size > bytes.size()) throw std::runtime_error(no_result);
    for (std::uint64_t i = 0; i < size; ++i) get(bytes, value.emplace_back());
  } else if constexpr (is_optional<T>) {
    if (take(bytes, CellType::integer).integer > 0) get(bytes, value.emplace());
  } else if constexpr (std::is_same_v<T, std::string>) {
    const bool is_empty = bytes.starts_with(static_cast<char>(CellType::none));
    value = take(bytes, is_empty ? CellType::none : CellType::text).text;
  } else if constexpr (std::is_floating_point_v<T>) {
    value = take(bytes, CellType::number).number;
  } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
    value = static_cast<T>(take(bytes, CellType::integer).integer);
  } else if constexpr (std::is_same_v<T, ExchangeTotals>) {
    for (const ExchangeColumn& column : exchange_columns) get(bytes, value.*column.of);
  } else {
    std::apply([&](auto&... part) { (get(bytes, part), ...); }, parts(value));
  }
}

/// Sum over learners; none where they are not followed.
std::optional<ExchangeTotals> exchanged_by(const std::vector<LearnerTotals>& learners) {
  std::optional<ExchangeTotals> sum;
  for (const LearnerTotals& learner : learners) {
    if (!sum) sum.emplace();
    for (const ExchangeColumn& column : exchange_columns)
      (*sum).*column.of += learner.exchanged.*column.of;
  }
  return sum;
}

std::optional<FailureCosts> costs_of(const RunRecord& record, const Cluster& cluster) {
  if (!cluster.transit.failures || !cluster.transit.failures->tells_costs) return {};
  FailureCosts costs{.losses = record.losses};
  for (const LearnerTotals& learner : record.learners)
    costs.useful += learner.busy - learner.wasted;
  return costs;
}

}  // namespace

RunResult result_of(const RunRecord& record, const Cluster& cluster,
                    std::vector<double> target_times, std::vector<double> target_intervals,
                    std::optional<double> first_loss) {
  return {.status = record.status,
          .reason = record.reason,
          .totals = record.totals,
          .last = record.last,
          .first_loss = first_loss,
          .gradients_computed = record.gradients_computed,
          .hash = record.hash,
          .exchanged = exchanged_by(record.learners),
          .utilisation = record.utilisation,
          .failures = costs_of(record, cluster),
          .outer = record.outer.updates > 0 ? std::optional(record.outer) : std::nullopt,
          .target_times = std::move(target_times),
          .target_intervals = std::move(target_intervals),
          .ran_out = replays_that_ran_out(cluster, record.learners)};
}

std::string bytes_of(const RunResult& result) {
  std::string bytes;
  RunResult copy = result;
  put(bytes, copy);
  if (copy.failures) put(bytes, *copy.failures);
  if (copy.outer) add_cell(bytes, outer_mark), put(bytes, *copy.outer);
  return bytes;
}

RunResult result_from(std::string_view bytes) {
  RunResult result;
  get(bytes, result);
  const auto comes = [&](CellType type) { return bytes.starts_with(static_cast<char>(type)); };
  if (comes(CellType::integer)) get(bytes, result.failures.emplace());
  if (comes(CellType::text)) {
    if (take(bytes, CellType::text).text != outer_mark) throw std::runtime_error(no_result);
    get(bytes, result.outer.emplace());
  }
  if (!bytes.empty()) throw std::runtime_error(no_result);
  return result;
}

bool is_result(std::string_view bytes, std::size_t targets) {
  try {
    const RunResult result = result_from(bytes);
    const bool has_ended = result.status == Status::finished || result.status == Status::diverged ||
                           result.status == Status::deadlocked;
    return has_ended && is_plain(result.reason) && result.target_times.size() == targets &&
           result.target_intervals.size() == targets &&
           std::ranges::all_of(result.ran_out,
                               [](const RanOut& ran_out) { return is_utf8(ran_out.file); });
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace gradrace
