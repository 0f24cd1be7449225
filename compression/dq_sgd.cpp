#include <memory>
#include <utility>

#include "compression/bit_schedule.h"
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

struct DqSgd final : CompressorOf<DqSgd> {
  BitSchedule schedule;

  double bytes(double numbers) const override { return 4 * numbers; }
  std::optional<BlockCode> block_code(std::size_t) const override { return BlockCode{}; }
  template <class Real>
  void make(std::span<Real>, Stream&) const {}

  std::shared_ptr<const Codes> codes(const Training& training) const override {
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
    for (auto bits = schedule.min_bits; bits <= schedule.most_of_packed(); ++bits) {
      Qsgd code;
      code.levels = levels_of(bits), code.parts.bucket = std::uint64_t{1} << 32;
      codes.compressors.push_back(std::make_shared<const Qsgd>(code));
    }
    if (schedule.max_bits == whole_bits)
      codes.compressors.push_back(std::make_shared<const Whole>());
    if (schedule.mean_bits && codes.lacks.empty()) codes.planned = planned_bits(schedule, training);
    codes.make_chooser = [schedule = schedule, training] {
      return make_chooser(schedule, training);
    };
    return std::make_shared<const Codes>(std::move(codes));
  }
};

Message read(Fields& fields) {
  DqSgd dq_sgd;
  dq_sgd.schedule.visit(fields);
  return message_by(fields, dq_sgd);
}

}  // namespace

extern const CompressionEntry dq_sgd_entry{page, read};

}  // namespace gradrace
