#include "compression/bit_schedule.h"

#include <algorithm>
#include <cmath>

#include "compression/rising_bits.h"

namespace gradrace {

namespace {

/// log2 ||g||^2 against the step, by least squares.
struct Trend {
  double count = 0, mean_step = 0, mean = 0, squares = 0, products = 0;

  void add(double step, double y) {
    ++count;
    const double dx = step - mean_step, dy = y - mean;
    mean_step += dx / count, mean += dy / count;
    squares += dx * (step - mean_step), products += dx * (y - mean);
  }
};

class BitsByStep final : public CodeChooser {
 public:
  BitsByStep(const BitSchedule& schedule, const Training& training)
      : schedule_(schedule), training_(training) {}

  PlannedBits planned() const {
    constexpr double most_steps = 1e5;  // of more, so many that are evenly spread
    const RisingBits bits = plan(0, steps_);
    const double parts = std::min(steps_, most_steps);
    double mean = 0, errors = 0, of_one_level = 0;
    for (double part = 0; part < parts; ++part) {
      const double n = (part + 0.5) * (steps_ / parts) - 0.5, s = std::exp2(bits.at(n) - 1) - 1;
      const double c = std::pow(alpha_, steps_ - 1 - n);
      mean += bits.at(n) / parts, errors += c / (s * s), of_one_level += c;
    }
    const double fixed = std::log2(std::sqrt(of_one_level / errors) + 1) + 1;
    return {mean, bits.at(0), bits.at(steps_ - 1), fixed - mean};
  }

  std::uint16_t first() override { return use(schedule_.mean_bits.value_or(whole_bits)); }

  std::uint16_t next(double norm) override {
    ++step_;
    if (!(norm > 0) || !std::isfinite(norm)) return use(least_);
    norm /= std::sqrt(1 + added_by_rounding());
    const double to_come = std::max(1.0, steps_ - step_);
    if (!schedule_.mean_bits) {
      const double scale = schedule_.L.value_or(0) * std::pow(eta_, 2) * training_.numbers /
                           (8 * training_.gradients);
      const double c = scale * std::pow(alpha_, to_come - 1) * norm * norm;
      return use(std::ceil(std::log2(std::sqrt(steps_ * c / *schedule_.error) + 1) + 1));
    }
    trend_.add(step_, 2 * std::log2(norm));
    // Few steps count as if there had been more, without a trend.
    const double log_rho = trend_.products / (trend_.squares + std::pow(steps_ / 20, 3) / 12);
    return use(std::round(plan(log_rho, to_come).at(0)));
  }

 private:
  /// To ||g||^2 of the mean of K messages of d normal numbers, as a part of it: d / (s^2 K) E[f (1
  /// - f)] of x = s |z| / sqrt(d), where levels above 1 are rare or f is uniform.
  double added_by_rounding() const {
    const double s = std::exp2(used_ - 1) - 1, x = s / std::sqrt(training_.numbers);
    constexpr double mean = 0.79788456080286536;  // of |z|
    return (x < 0.4 ? x * mean - x * x : 1.0 / 6) / (x * x * training_.gradients);
  }

  /// Of so many steps to come, for all bits that are left.
  RisingBits plan(double log_rho, double steps) const {
    RisingBits bits{least_, most_, (log_rho - std::log2(alpha_)) / 2};
    bits.move(steps, left_ / steps);
    return bits;
  }

  std::uint16_t use(double bits) {
    const auto whole = static_cast<double>(schedule_.max_bits);
    bits = std::clamp(std::round(bits), least_, whole);
    used_ = bits > most_ ? whole : bits;
    left_ -= used_;
    return static_cast<std::uint16_t>(std::min(used_, most_ + 1) - least_);
  }

  const BitSchedule schedule_;
  const Training training_;
  const double least_ = static_cast<double>(schedule_.min_bits);
  const double most_ = static_cast<double>(schedule_.most_of_packed());
  const double eta_ = training_.eta.value_or(0), alpha_ = schedule_.alpha_at(eta_);
  const double steps_ =
      static_cast<double>(schedule_.horizon.value_or(training_.updates.value_or(1)));
  double used_ = 0;                                         // bits of the step before
  double left_ = steps_ * schedule_.mean_bits.value_or(0);  // bits of the steps to come
  double step_ = 0;
  Trend trend_;
};

}  // namespace

void BitSchedule::visit(Fields& fields) {
  fields.integer("horizon", horizon, at_least(1), "N: updates of a run (default: stop.updates)");
  fields.real("alpha", alpha, {.low = 0, .high = 1, .low_allowed = false},
              "contraction of F - F* in a step");
  fields.real("nu", nu, positive(), "strong convexity, or PL constant, in place of alpha");
  fields.real("L", L, positive(), "smoothness, beside nu or error");
  fields.real("error", error, positive(), "e: what quantisation may add to the last loss");
  fields.real("mean_bits", mean_bits, between(2, most_packed),
              "of a number, over all steps, in place of error");
  fields.integer("min_bits", min_bits, Need::defaulted, between(2, most_packed),
                 "of a number, at least");
  visit_bits(fields, "max_bits", max_bits, Need::defaulted,
             "of a number, at most: 2 to 24, or 32, numbers as they are");
  fields.need_one("error", "mean_bits");
  fields.need_one("alpha", "nu", " (with L)");
  if (!fields.good()) return;
  if (min_bits > max_bits) fields.complain("min_bits", "is more than max_bits");
  if (mean_bits &&
      (*mean_bits < static_cast<double>(min_bits) || *mean_bits > static_cast<double>(max_bits)))
    fields.complain("mean_bits", "lies between min_bits and max_bits");
  if (nu && !L) fields.complain("L", "is needed, too: alpha is 1 - 2 nu eta + L nu eta^2");
  if (nu && L && *nu > *L) fields.complain("nu", "is convexity, and no more than the smoothness L");
  if (error && !L)
    fields.complain("L", "is needed, too: an error of the loss is L eta^2 d / (8 K) times others");
  fields.idle("L", alpha && mean_bits && L, "says nothing beside alpha and mean_bits");
}

PlannedBits planned_bits(const BitSchedule& schedule, const Training& training) {
  return BitsByStep(schedule, training).planned();
}

std::unique_ptr<CodeChooser> make_chooser(const BitSchedule& schedule, const Training& training) {
  return std::make_unique<BitsByStep>(schedule, training);
}

}  // namespace gradrace
