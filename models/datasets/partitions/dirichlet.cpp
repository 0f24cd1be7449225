#include <algorithm>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/datasets/partitions/pools.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "dirichlet",
    .definition =
        "Every learner has a shard of n = floor(N / P) rows whose classes are as the learner's "
        "shares p ~ Dirichlet(alpha, ..., alpha) say.  N mod P rows are left out, in proportion to "
        "the classes, and each class is shuffled.  Then learner by learner: p n is rounded by "
        "largest remainder, each class gives so many rows or all that it has left, and what is "
        "missing comes from the class with most left, and the next if that is not enough.\n\n"
        "Alpha 0.1 is strongly skewed, 1 moderately; as alpha grows all shares go to 1 / classes.  "
        "The last learners get what is left, so their shards are less skewed or skewed otherwise.",
    .source =
        "Maranjyan, Richtarik, Ringleader ASGD, ICLR 2026, arXiv 2509.22860 (its "
        "experiments' code)",
    .example = R"({"kind": "dirichlet", "alpha": 0.1})",
};

/// A draw of the symmetric Dirichlet law, made of Gamma(alpha) numbers.  G(alpha) = G(alpha + 1)
/// U^(1 / alpha) is taken in logarithms, as it underflows where alpha is small.
std::vector<double> shares(double alpha, std::size_t classes, Stream words) {
  boost::random::gamma_distribution<double> gamma(alpha + 1);
  boost::random::exponential_distribution<double> exponential;
  std::vector<double> p(classes);
  for (double& x : p) {
    x = std::log(gamma(words));
    x -= exponential(words) / alpha;
  }
  const double greatest = *std::ranges::max_element(p);
  double sum = 0;
  for (double& x : p) sum += x = std::exp(x - greatest);
  for (double& x : p) x /= sum;
  return p;
}

/// Moves as many of the pool's last rows as it has, `wanted` at most; how many.
std::uint32_t take(std::vector<std::uint32_t>& pool, std::uint32_t wanted,
                   std::vector<std::uint32_t>& to) {
  const auto taken = static_cast<std::uint32_t>(std::min<std::size_t>(wanted, pool.size()));
  to.insert(to.end(), pool.end() - taken, pool.end());
  pool.resize(pool.size() - taken);
  return taken;
}

class Dirichlet final : public Partition {
 public:
  explicit Dirichlet(double alpha) : alpha_(alpha) {}

  std::optional<PartitionFault> fault(const Dataset& data, const Sharers& sharers) const override {
    if (const auto none = no_classes(data, page.name)) return none;
    return too_few_rows(data, sharers);
  }

  Shards divide(const Dataset& data, const Sharers& sharers) const override {
    Pools pools = trimmed_pools(data, sharers.learners, sharers.seed);
    const auto size = static_cast<std::uint32_t>(data.train.count / sharers.learners);
    std::vector<std::uint32_t> dealt;
    dealt.reserve(std::size_t{size} * sharers.learners);
    for (std::uint32_t learner = 0; learner < sharers.learners; ++learner) {
      auto quotas =
          shares(alpha_, pools.size(),
                 stream(partition_stream(sharers.seed, PartitionPart::of_learner, learner)));
      for (double& quota : quotas) quota *= size;
      const auto wanted = largest_remainder(quotas, size);
      std::uint32_t missing = size;
      for (std::size_t c = 0; c < pools.size(); ++c) missing -= take(pools[c], wanted[c], dealt);
      while (missing > 0)
        missing -=
            take(*std::ranges::max_element(pools, {}, &Pools::value_type::size), missing, dealt);
    }
    return shards_of(std::move(dealt), sharers.learners);
  }

 private:
  double alpha_;
};

PartitionProduct read(Fields& fields) {
  double alpha = 1;
  fields.real("alpha", alpha, Need::required, at_least(1e-9),
              "concentration; the smaller, the fewer classes a shard has");
  return fields.good() ? std::make_shared<Dirichlet>(alpha) : nullptr;
}

}  // namespace

extern const PartitionEntry dirichlet_partition_entry{page, read};

}  // namespace gradrace
