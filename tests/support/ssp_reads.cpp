#include "tests/support/ssp_reads.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace gradrace {

SspReads::SspReads(std::uint32_t learners, std::uint64_t bound)
    : clock_(learners, 0), computing_(learners, false), bound_(bound) {}

void SspReads::on_dispatch(const GradientFacts& gradient, double) {
  REQUIRE(gradient.version == applied_);  // reads all there is, its own too
  computing_[gradient.learner] = true;
  const std::uint64_t c = clock_[gradient.learner];
  const std::uint64_t slowest = *std::ranges::min_element(clock_);
  std::uint64_t missing = 0, extra = 0, newest = 0;
  for (const std::uint64_t other : clock_) {  // stamps 0 to other - 1 are there
    newest = std::max(newest, other);
    missing += other < c ? c - other : 0;
    extra += other > c ? other - c : 0;
  }
  REQUIRE(slowest + bound_ >= c);
  REQUIRE(newest <= c + bound_);
  spread_ = std::max(spread_, c - slowest);
  ++reads_;
  missing_ += missing;
  extra_ += extra;
  most_ = std::max(most_, missing + extra);
}

void SspReads::on_end(const GradientFacts& gradient, double, double, Ending ending) {
  REQUIRE(ending == Ending::accepted);
  const std::uint64_t slowest = *std::ranges::min_element(clock_);
  bool all_rightly_wait = true;
  for (std::size_t learner = 0; learner < clock_.size(); ++learner) {
    all_rightly_wait =
        all_rightly_wait && (computing_[learner] || clock_[learner] > slowest + bound_);
  }
  REQUIRE(all_rightly_wait);
  computing_[gradient.learner] = false;
}

void SspReads::on_update(const UpdateFacts& update) {
  REQUIRE(update.gradients.size() == 1);
  ++clock_[update.gradients.front().learner];
  ++applied_;
}

}  // namespace gradrace
