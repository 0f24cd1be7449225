#include "analysis/theory/restart_theory.h"

#include <algorithm>
#include <cmath>

namespace gradrace {

double round_with_restarts(double round, const RestartingLearners& learners) {
  const double rounds = std::max(1.0, std::ceil(learners.every / round));
  const double up = learners.up / learners.count;
  const double stands = up * std::expm1(learners.count * std::log1p(learners.down / learners.up));
  return (up + stands) * std::exp(learners.reform / up) *
         std::expm1((rounds * round + learners.cost) / up) / rounds;
}

}  // namespace gradrace
