#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "compression/catalog.h"
#include "compression/qsgd.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "dq-sgd",
    .definition =
        R"(qsgd of one bucket, with bits for each step n of N = `horizon` that make the error of quantisation

    e = L eta^2 d / (8 K) sum_n alpha^(N-1-n) ||g_n||^2 / s_n^2,  s_n = 2^(B_n - 1) - 1

least for the bits that are sent: with c_n the part of step n, s_n = 1, all c_n / s_n^2 are equal.  A learner
uses the bits that came with the value it read, for which ||g_n|| is that of the mean of the messages in the
update before, less what rounding adds to it where numbers are normal.

With `error` that is e:  s_n = sqrt(N c_n / error).

With `mean_bits` the bits of all steps are that in the mean: those of r steps to come are planned to rise by

    log2(rho / alpha) / 2

from step to step, between min_bits and max_bits, and to use up what is left; rho is the ratio of ||g||^2 from
step to step, by least squares over those so far.  `gradrace theory` has the plan where the norm stays, rho = 1,
and what it saves: log2(AM(c) / GM(c)) / 2 bits of a number where levels are many and none is cut off.

B_n is log2(s_n + 1) + 1 rounded up with error, to the nearest with mean_bits.  Before a norm is there it is
max_bits, or mean_bits.  alpha is that of F(w_n) - F* <= alpha^n (F(w_0) - F*): 1 - 2 nu eta + L nu eta^2 by
convexity `nu` and smoothness `L`.)",
    .source = "Yan, Huang, Lan, Song, arXiv 2107.14575; the rule for mean_bits is ours",
    .example = R"({"kind": "dq-sgd", "mean_bits": 4, "alpha": 0.99})"};

struct Schedule {
  std::optional<std::uint64_t> horizon;
  std::optional<double> alpha, nu, L, error, mean_bits;
  std::uint64_t min_bits = 2, max_bits = whole_bits;

  double alpha_at(double eta) const {
    return alpha.value_or(1 - 2 * nu.value_or(0) * eta +
                          L.value_or(0) * nu.value_or(0) * eta * eta);
  }
};

/// Codes are those of min_bits, ... 24, and of 32 where that is allowed.
class BitsByStep final : public CodeChooser {
 public:
  BitsByStep(const Schedule& schedule, const Training& training)
      : schedule_(schedule),
        steps_(static_cast<double>(schedule.horizon.value_or(training.updates.value_or(1)))),
        alpha_(schedule.alpha_at(training.eta.value_or(0))),
        scale_(schedule.L.value_or(0) * std::pow(training.eta.value_or(0), 2) * training.numbers /
               (8 * training.gradients)),
        numbers_(training.numbers),
        gradients_(training.gradients) {
    if (schedule.mean_bits) left_ = steps_ * *schedule.mean_bits;
  }

  /// Of mean_bits.
  PlannedBits planned() const {
    constexpr double most_steps = 1e5;  // of more, so many that are evenly spread
    const double growth = -std::log2(alpha_) / 2, first = start_of_plan(growth, steps_);
    const auto bits = [&](double n) { return std::clamp(first + growth * n, least(), most()); };
    const double parts = std::min(steps_, most_steps);
    double mean = 0, errors = 0, of_one_level = 0;
    for (double part = 0; part < parts; ++part) {
      const double n = (part + 0.5) * (steps_ / parts) - 0.5, s = std::exp2(bits(n) - 1) - 1;
      const double c = std::pow(alpha_, steps_ - 1 - n);
      mean += bits(n) / parts, errors += c / (s * s), of_one_level += c;
    }
    const double fixed = std::log2(std::sqrt(of_one_level / errors) + 1) + 1;
    return {mean, bits(0), bits(steps_ - 1), fixed - mean};
  }

  std::uint16_t first() override { return use(schedule_.mean_bits.value_or(whole_bits)); }

  std::uint16_t next(double norm) override {
    ++step_;
    if (!(norm > 0) || !std::isfinite(norm)) return use(static_cast<double>(schedule_.min_bits));
    norm /= std::sqrt(1 + added_by_rounding());
    const double to_come = std::max(1.0, steps_ - step_);
    if (!schedule_.mean_bits) {
      const double c = scale_ * std::pow(alpha_, to_come - 1) * norm * norm;
      return use(std::ceil(std::log2(std::sqrt(steps_ * c / *schedule_.error) + 1) + 1));
    }
    add_to_trend(2 * std::log2(norm));
    return use(std::round(first_of_plan((trend() - std::log2(alpha_)) / 2, to_come)));
  }

 private:
  /// What rounding adds to ||g||^2 of the mean of K messages of d normal numbers, as a part of it:
  /// d / (s^2 K) E[f (1 - f)] of x = s |z| / sqrt(d), where levels above 1 are rare or f is
  /// uniform.
  double added_by_rounding() const {
    const double s = std::exp2(used_ - 1) - 1, x = s / std::sqrt(numbers_);
    constexpr double mean = 0.79788456080286536;  // of |z|
    return (x < 0.4 ? x * mean - x * x : 1.0 / 6) / (x * x * gradients_);
  }
  /// y: log2 ||g||^2 of this step.
  void add_to_trend(double y) {
    ++count_;
    const double dx = step_ - mean_step_, dy = y - mean_;
    mean_step_ += dx / count_, mean_ += dy / count_;
    squares_ += dx * (step_ - mean_step_), products_ += dx * (y - mean_);
  }
  /// log2 rho by least squares; few steps count as if there had been more, without a trend.
  double trend() const { return products_ / (squares_ + std::pow(steps_ / 20, 3) / 12); }

  double first_of_plan(double growth, double steps) const {
    return std::clamp(start_of_plan(growth, steps), least(), most());
  }
  /// Of the bits of so many steps, which rise by `growth` from step to step, cut off where they are
  /// not allowed, and are what is left in all.
  double start_of_plan(double growth, double steps) const {
    const double rise = growth * (steps - 1), wanted = left_ / steps;
    double low = least() - std::abs(rise) - 1, high = most() + std::abs(rise) + 1;
    for (int halving = 0; halving < 60; ++halving) {
      const double first = (low + high) / 2;
      (mean_of_line(first, first + rise) < wanted ? low : high) = first;
    }
    return (low + high) / 2;
  }
  /// Of what goes from one number to another, cut off where it is not allowed.
  double mean_of_line(double from, double to) const {
    if (std::abs(to - from) < 1e-9) return std::clamp(from, least(), most());
    const auto integral = [&](double x) {
      const double inside = std::clamp(x, least(), most());
      return inside * inside / 2 + (x - inside) * inside;
    };
    return (integral(to) - integral(from)) / (to - from);
  }
  double least() const { return static_cast<double>(schedule_.min_bits); }
  double most() const { return static_cast<double>(std::min(schedule_.max_bits, most_packed)); }

  std::uint16_t use(double bits) {
    bits = std::clamp(std::round(bits), least(), static_cast<double>(schedule_.max_bits));
    if (bits > most()) bits = static_cast<double>(schedule_.max_bits);
    left_ -= bits;
    used_ = bits;
    return static_cast<std::uint16_t>(std::min(bits, most() + 1) - least());
  }

  const Schedule schedule_;
  const double steps_, alpha_, scale_;
  double numbers_, gradients_;
  double used_ = 0;  // bits of the step before
  double left_ = 0;  // bits of the steps to come
  double step_ = 0;
  double count_ = 0, mean_step_ = 0, mean_ = 0, squares_ = 0, products_ = 0;  // of norms
};

struct DqSgd {
  Schedule schedule;

  double bytes(double numbers) const { return 4 * numbers; }
  template <class Real>
  void pass(std::span<Real>, Stream&) const {}

  std::shared_ptr<const Codes> codes(const Training& training) const {
    Codes codes;
    const double alpha = schedule.alpha_at(training.eta.value_or(0));
    if (!training.eta && (!schedule.alpha || schedule.error)) {
      codes.lacks = schedule.error ? "mean_bits" : "alpha";
      codes.why = "is needed where the learning rate is not one number";
    } else if (!(alpha > 0 && alpha <= 1)) {
      codes.lacks = "alpha";
      codes.why =
          "is needed: 1 - 2 nu eta + L nu eta^2 is not between 0 and 1 at this learning rate";
    }
    if (!schedule.horizon && !training.updates) {
      codes.lacks = "horizon";
      codes.why = "is needed where stop.updates is not there";
    }
    for (auto bits = schedule.min_bits; bits <= std::min(schedule.max_bits, most_packed); ++bits)
      codes.compressors.push_back(std::make_shared<const CompressorOf<Qsgd>>(Qsgd{
          .levels = levels_of(bits), .bits = static_cast<double>(bits), .parts = {one_bucket}}));
    if (schedule.max_bits == whole_bits)
      codes.compressors.push_back(std::make_shared<const CompressorOf<Whole>>(Whole()));
    if (schedule.mean_bits && codes.lacks.empty())
      codes.planned = BitsByStep(schedule, training).planned();
    codes.make_chooser = [schedule = schedule, training] {
      return std::make_unique<BitsByStep>(schedule, training);
    };
    return std::make_shared<const Codes>(std::move(codes));
  }

  static constexpr std::uint64_t one_bucket = std::uint64_t{1} << 32;
};

void check_contraction(Fields& fields, const Schedule& schedule) {
  const bool known = schedule.nu && schedule.L;
  if (schedule.alpha.has_value() == schedule.nu.has_value())
    fields.complain(schedule.alpha ? "nu" : "", "needs one of two keys", "alpha, nu (with L)");
  else if (schedule.nu && !known)
    fields.complain("L", "is needed, too: alpha is 1 - 2 nu eta + L nu eta^2");
  if (known && *schedule.nu > *schedule.L)
    fields.complain("nu", "is convexity, and no more than the smoothness L");
  if (schedule.error && !schedule.L)
    fields.complain("L", "is needed, too: an error of the loss is L eta^2 d / (8 K) times others");
  fields.idle("L", schedule.alpha && schedule.mean_bits && schedule.L,
              "says nothing beside alpha and mean_bits");
}

Message read(Fields& fields) {
  Schedule schedule;
  fields.integer("horizon", schedule.horizon, at_least(1),
                 "N: updates of a run (default: stop.updates)");
  fields.real("alpha", schedule.alpha, {.low = 0, .high = 1, .low_allowed = false},
              "contraction of F - F* in a step");
  fields.real("nu", schedule.nu, positive(), "strong convexity, or PL constant, in place of alpha");
  fields.real("L", schedule.L, positive(), "smoothness, beside nu or error");
  fields.real("error", schedule.error, positive(), "e: what quantisation may add to the last loss");
  fields.real("mean_bits", schedule.mean_bits, between(2, most_packed),
              "of a number, over all steps, in place of error");
  fields.integer("min_bits", schedule.min_bits, Need::defaulted, between(2, most_packed),
                 "of a number, at least");
  fields.integer("max_bits", schedule.max_bits, Need::defaulted, bits_allowed(),
                 "of a number, at most: 2 to 24, or 32, numbers as they are");
  if (!fields.good()) return {};
  check_bits(fields, schedule.max_bits, "max_bits");
  if (schedule.error.has_value() == schedule.mean_bits.has_value())
    fields.complain(schedule.error ? "mean_bits" : "", "needs one of two keys", "error, mean_bits");
  if (schedule.min_bits > schedule.max_bits) fields.complain("min_bits", "is more than max_bits");
  if (schedule.mean_bits && (*schedule.mean_bits < static_cast<double>(schedule.min_bits) ||
                             *schedule.mean_bits > static_cast<double>(schedule.max_bits)))
    fields.complain("mean_bits", "lies between min_bits and max_bits");
  check_contraction(fields, schedule);
  if (!fields.good()) return {};
  return message_by(DqSgd{schedule});
}

}  // namespace

extern const CompressionEntry dq_sgd_entry{page, read};

}  // namespace gradrace
