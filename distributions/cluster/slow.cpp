#include "distributions/cluster/slow.h"

#include "distributions/cluster/some_learners.h"

namespace gradrace {

bool visit_slow(Fields& fields, std::vector<double>& speeds, std::uint32_t learners) {
  if (!fields.open("slow", Need::none,
                   "learners that take longer than the others; speeds are divided by factor")) {
    return false;
  }
  std::vector<std::uint32_t> slow;
  double factor = 1;
  visit_some_learners(fields, slow, learners, Need::required,
                      "the numbers of those that are slow, counted from 0 (3 alone is learner 3, "
                      "not three of them)");
  fields.real("factor", factor, Need::required, between(1e-9, 1e9),
              "their minibatches take so many times as long");
  if (fields.good() && !speeds.empty()) {
    const std::vector<double> usual = speeds;
    speeds.resize(learners);
    for (std::uint32_t l = 0; l < learners; ++l) speeds[l] = usual[l % usual.size()];
    for (const std::uint32_t l : slow) speeds[l] /= factor;
  }
  fields.close();
  return true;
}

}  // namespace gradrace
