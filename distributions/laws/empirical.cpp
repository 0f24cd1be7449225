#include <algorithm>
#include <array>
#include <boost/random/generate_canonical.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "distributions/ageing.h"
#include "distributions/catalog.h"
#include "distributions/fit/scenario_trace.h"
#include "distributions/integrand_budget.h"
#include "distributions/law.h"
#include "distributions/measured.h"
#include "distributions/order_statistics.h"
#include "sim/check.h"
#include "sim/message_text.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "empirical",
    .definition =
        "Measured times, one a row of a CSV file.  bootstrap: a draw is any of them.  block, "
        "replay: learner l keeps to the times of the file's learner l mod their number, ascending; "
        "without learner_column all rows are one learner's.  block: so many successive draws are "
        "successive times, from a random one on; the first follows the last.  replay: the n-th "
        "draw is the n-th time, in every replica the same; it starts again when they run out, and "
        "says so.  Where draws depend on each other, theory has no iteration time.",
    .source =
        "bootstrap: Efron, Annals of Statistics 7(1), 1979; block: Politis and Romano's circular "
        "block bootstrap, 1992",
    .example = R"({"distribution": "empirical", "path": "times.csv", "column": "time"})",
};

/// A trace and all its times, sorted.
struct Times {
  explicit Times(Trace read) : trace(std::move(read)) {
    for (const auto& times : trace.series) sorted.insert(sorted.end(), times.begin(), times.end());
    std::sort(sorted.begin(), sorted.end());
  }

  const Trace trace;
  std::vector<double> sorted;
};

using SharedTimes = std::shared_ptr<const Times>;

/// Reads the trace, but once where the points of a sweep share it.
SharedTimes shared_times(const std::filesystem::path& file, const std::string& column,
                         const std::string& learner_column, bool pooled) {
  static std::mutex mutex;
  static std::map<std::array<std::string, 4>, std::weak_ptr<const Times>> known;
  const std::lock_guard lock(mutex);
  auto& slot = known[{file.string(), column, learner_column, pooled ? "pooled" : ""}];
  if (const auto times = slot.lock()) return times;
  const auto times = std::make_shared<Times>(scenario_trace(file, column, learner_column, pooled));
  slot = times;
  return times;
}

enum class Mode { bootstrap, block, replay };

class Empirical final : public Law, public Measured {
 public:
  void visit(Fields& fields) {
    Location location;
    std::string column, learner_column, mode = "bootstrap";
    constexpr std::string_view modes[] = {"bootstrap", "block", "replay"};
    fields.path("path", location, Need::required, "CSV file with a line of column names");
    fields.text("column", column, Need::required, "name of the column of times, all > 0");
    fields.text(
        "learner_column", learner_column, Need::none,
        "name of the column that says whose time it is, for the modes block and replay (default: "
        "all rows are one learner's)");
    fields.choice("mode", mode, modes, Need::defaulted, "how times are drawn");
    fields.integer("block", block_, Need::defaulted, at_least(1),
                   "successive times in a block of that mode");
    fields.real("scale", scale_, Need::defaulted, positive(), "factor on every time");
    mode_ = mode == "replay" ? Mode::replay : mode == "block" ? Mode::block : Mode::bootstrap;
    if (fields.good()) examine(fields, mode);
    if (is_there(fields, location) && fields.good())
      read(fields, location.found, column, learner_column);
    if (!fields.good()) return;
    for (std::size_t i = 0; i < count(); ++i) mean_ += sorted(i) / size();
  }

  double sample(Stream& words) const override { return sorted(pick(words, count())); }

  double draw(const StreamName& name) const override {
    const auto& times = series(name.learner);
    if (mode_ == Mode::replay) return scale_ * times[name.draw % times.size()];
    if (mode_ == Mode::bootstrap) return Distribution::draw(name);
    StreamName block = name;
    block.draw = name.draw / block_;
    Stream words = stream(block);
    return scale_ * times[(pick(words, times.size()) + name.draw % block_) % times.size()];
  }
  bool has_memory() const override { return mode_ != Mode::bootstrap; }

  double mean() const override { return mean_; }
  double variance() const override {
    double sum = 0;
    for (std::size_t i = 0; i < count(); ++i) sum += (sorted(i) - mean_) * (sorted(i) - mean_);
    return sum / size();
  }
  double survival(double x) const override {
    const auto& times = times_->sorted;
    const auto above = std::partition_point(times.begin(), times.end(),
                                            [&](double time) { return !(x < time * scale_); });
    return static_cast<double>(times.end() - above) / size();
  }

  /// The smallest time that at least p of all do not exceed, a rounding error of p forgiven.
  double quantile(double p) const override {
    const double below = std::ceil((p - std::numeric_limits<double>::epsilon()) * size());
    return sorted(static_cast<std::size_t>(std::max(below, 1.0)) - 1);
  }
  double inverse_survival(double q) const override {
    const double above = std::floor((q + std::numeric_limits<double>::epsilon()) * size());
    return sorted(count() - 1 - static_cast<std::size_t>(std::min(above, size() - 1)));
  }

  /// x_1 + sum of (x_{i+1} - x_i) P(X_{k:n} > x_i), x the sorted times: no term is negative.
  double expected_order_statistic(std::uint32_t k, std::uint32_t n) const override {
    GRADRACE_CHECK(1 <= k && k <= n, "an order statistic has 1 <= k <= n");
    IntegrandBudget::charge(count());
    double sum = sorted(0);
    for (std::size_t i = 0; i + 1 < count(); ++i) {
      if (sorted(i) == sorted(i + 1)) continue;
      const double above = static_cast<double>(count() - 1 - i) / size();
      sum += (sorted(i + 1) - sorted(i)) * at_least_k_of_n(n - k + 1, n, above);
    }
    return sum;
  }

  Ageing ageing() const override { return ageing_on_grid(*this); }
  std::vector<double> breaks() const override {
    std::vector<double> breaks;
    for (std::size_t i = 0; i < count(); ++i)
      if (i == 0 || sorted(i) != sorted(i - 1)) breaks.push_back(sorted(i));
    return breaks;
  }
  std::vector<std::shared_ptr<const Trace>> traces() const override {
    return {{times_, &times_->trace}};
  }
  std::size_t period(std::uint32_t learner) const override {
    return mode_ == Mode::replay ? series(learner).size() : 0;
  }

 private:
  void examine(Fields& fields, const std::string& mode) const {
    fields.idle("learner_column", mode_ == Mode::bootstrap,
                "says nothing in the mode bootstrap, where a draw is any learner's",
                "without it; or mode block or replay");
    fields.idle("block", mode_ != Mode::block && block_ != usual_block,
                "says nothing in the mode " + mode, "without it; or mode block");
  }

  static bool is_there(Fields& fields, const Location& place) {
    if (std::filesystem::is_regular_file(place.found)) return true;
    const bool told = place.name.empty() && !fields.good();
    if (!told) fields.lacks("path", {"file", place.name, place.looked_at});
    return false;
  }

  void read(Fields& fields, const std::filesystem::path& file, const std::string& column,
            const std::string& learner_column) {
    try {
      times_ = shared_times(file, column, learner_column, mode_ == Mode::bootstrap);
    } catch (const TraceError& error) {
      return fields.complain(error.key, error.what(), error.allowed);
    }
    if (mode_ != Mode::block) return;
    for (std::size_t learner = 0; learner < times_->trace.series.size(); ++learner) {
      const std::size_t rows = times_->trace.series[learner].size();
      if (block_ <= rows) continue;
      const std::string& whose = times_->trace.learners[learner];
      return fields.complain("block",
                             "is longer than the " + count_text(rows, "time") +
                                 (whose.empty() ? "" : " of learner " + whose),
                             "1 to " + std::to_string(rows));
    }
  }

  static std::size_t pick(Stream& words, std::size_t count) {
    const double u = boost::random::generate_canonical<double, 53>(words);
    return static_cast<std::size_t>(u * static_cast<double>(count));
  }

  const std::vector<double>& series(std::uint32_t learner) const {
    return times_->trace.series[learner % times_->trace.series.size()];
  }
  /// The i-th smallest of all times, scaled.
  double sorted(std::size_t i) const { return times_->sorted[i] * scale_; }
  std::size_t count() const { return times_->sorted.size(); }
  double size() const { return static_cast<double>(count()); }

  static constexpr std::uint32_t usual_block = 20;

  SharedTimes times_;
  Mode mode_ = Mode::bootstrap;
  std::uint32_t block_ = usual_block;
  double scale_ = 1;
  double mean_ = 0;
};

}  // namespace

extern const DistributionEntry empirical_entry{page, read_distribution<Empirical>};

}  // namespace gradrace
