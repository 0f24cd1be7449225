#include "distributions/laws/weights.h"

#include <boost/random/generate_canonical.hpp>
#include <numeric>
#include <utility>

#include "sim/check.h"

namespace gradrace {

Weights::Weights(std::vector<double> weights) : weights_(std::move(weights)) {
  const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  GRADRACE_CHECK(sum > 0, "weights that sum to 0");
  for (double& weight : weights_) weight /= sum;
  cumulative_.resize(weights_.size());
  std::partial_sum(weights_.begin(), weights_.end(), cumulative_.begin());
}

std::size_t Weights::draw(Stream& words) const {
  const double u = boost::random::generate_canonical<double, 53>(words);
  std::size_t i = 0;
  while (i + 1 < cumulative_.size() && u >= cumulative_[i]) ++i;
  return i;
}

}  // namespace gradrace
