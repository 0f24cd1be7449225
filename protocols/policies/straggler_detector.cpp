#include "protocols/policies/straggler_detector.h"

#include <algorithm>
#include <cmath>

namespace gradrace {

void StragglerDetector::visit(Fields& fields, Config& config) {
  fields.integer("window", config.window, Need::defaulted, at_least(1),
                 "minibatches of a learner over which its throughput is taken");
  fields.integer("windows", config.windows, Need::defaulted, at_least(1),
                 "slow windows in a row that make a straggler, and others that end it");
  fields.real("deviations", config.deviations, Need::defaulted, at_least(0),
              "standard deviations below the learners' mean throughput from which it is slow");
  fields.real("floor", config.floor, Need::defaulted, between(0, 1),
              "share of the mean below which a slow throughput must be as well: by chance one of 8 "
              "equal learners whose times vary by 12 % is taken for a straggler once in 2,300 "
              "minibatches at 0.95, in a million at 0.9");
}

void StragglerDetector::saw(std::uint32_t number, double time) {
  Learner& learner = learners_[number];
  learner.time += time;
  if (++learner.minibatches < config_.window) return;
  const double throughput = config_.window / learner.time, before = learner.throughput;
  if (before == 0) ++known_;
  sum_ += throughput - before;
  square_sum_ += throughput * throughput - before * before;
  learner.throughput = throughput;
  learner.time = 0;
  learner.minibatches = 0;
  learner.against = is_slow(throughput) != learner.is_straggler ? learner.against + 1 : 0;
  if (learner.against < config_.windows) return;
  learner.against = 0;
  learner.is_straggler = !learner.is_straggler;
  stragglers_ += learner.is_straggler ? 1 : -1u;
}

bool StragglerDetector::is_slow(double throughput) const {
  const double mean = sum_ / known_;
  const double sd = std::sqrt(std::max(0.0, square_sum_ / known_ - mean * mean));
  return throughput < mean - config_.deviations * sd && throughput < config_.floor * mean;
}

}  // namespace gradrace
