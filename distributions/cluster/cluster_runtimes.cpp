#include "distributions/cluster/cluster_runtimes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "distributions/cluster/some_learners.h"
#include "distributions/laws/mixture.h"
#include "distributions/laws/shifted.h"
#include "distributions/order_statistics.h"
#include "sim/run_error.h"

namespace gradrace {

namespace {

/// The times of one run.
class Composition final : public Runtimes {
 public:
  Composition(std::shared_ptr<const ClusterRuntimes> cluster, std::uint32_t learners,
              std::uint64_t seed, std::uint32_t replica)
      : cluster_(std::move(cluster)),
        states_(cluster_->persistence ? learners : 0),
        seed_(seed),
        replica_(replica) {}

  double duration(std::uint32_t learner, std::uint32_t draw, double begin,
                  std::uint32_t samples) override {
    const ClusterRuntimes& cluster = *cluster_;
    double time = random_part(learner, draw);
    if (cluster.rate) time += samples / *cluster.rate;
    const double drawn = time;
    if (cluster.persistence) time *= persistent_factor(learner, draw);
    time /= cluster.speeds[learner % cluster.speeds.size()];
    const double length = time_through(cluster.windows, learner, begin, time);
    if (drawn > 0 && !(length > 0)) refuse_underflow();
    return length;
  }

 private:
  struct State {
    double value = 0;
    std::uint32_t draws = 0;  // it has been through
  };

  [[noreturn]] static void refuse_underflow() {
    throw RunError(
        "the time of a minibatch underflows: persistence, speeds or windows make it less than "
        "4.9e-324, the least number");
  }

  StreamName name(Purpose purpose, std::uint32_t learner, std::uint32_t draw) const {
    return {seed_, replica_, purpose, learner, draw};
  }

  double random_part(std::uint32_t learner, std::uint32_t draw) const {
    const ClusterRuntimes& cluster = *cluster_;
    if (cluster.outliers) {
      const auto outlier = draw_outlier(*cluster.outliers, name(Purpose::outlier, learner, draw));
      if (outlier) return *outlier;
    }
    return cluster.laws[learner % cluster.laws.size()]->draw(name(Purpose::runtime, learner, draw));
  }

  double persistent_factor(std::uint32_t learner, std::uint32_t draw) {
    const Persistence& persistence = *cluster_->persistence;
    State& state = states_[learner];
    for (; state.draws <= draw; ++state.draws) {
      Stream words = stream(name(Purpose::persistence, learner, state.draws));
      state.value =
          state.draws == 0 ? persistence.first(words) : persistence.next(state.value, words);
    }
    return persistence.factor(state.value);
  }

  const std::shared_ptr<const ClusterRuntimes> cluster_;
  std::vector<State> states_;  // of the learners
  const std::uint64_t seed_;
  const std::uint32_t replica_;
};

/// Whether the learners that there are have one of the values, the same for all.
template <class Value>
bool have_one(const std::vector<Value>& values, std::uint32_t learners) {
  const auto end = values.begin() + std::min<std::ptrdiff_t>(learners, std::ssize(values));
  return !values.empty() &&
         std::all_of(values.begin(), end, [&](const Value& x) { return x == values.front(); });
}

bool are_independent_draws(const ClusterRuntimes& cluster) {
  return cluster.laws.size() == 1 && !cluster.laws.front()->has_memory() &&
         cluster.speeds == std::vector<double>{1} && !cluster.rate && !cluster.persistence &&
         !cluster.outliers && cluster.windows.empty();
}

}  // namespace

std::vector<Difference> ClusterRuntimes::differences(std::uint32_t learners,
                                                     const PerLearner& samples) const {
  std::vector<Difference> all;
  const auto add = [&](std::string_view key, std::string_view why) { all.push_back({key, why}); };
  const auto remembers = [](const DistributionProduct& law) { return law->has_memory(); };
  const bool read = !laws.empty() && std::ranges::count(laws, nullptr) == 0;
  if (!read || !have_one(laws, learners)) add("runtimes", "learners have different runtimes");
  if (!read) return all;
  if (!have_one(speeds, learners)) add(slow ? "slow" : "speeds", "learners have different speeds");
  if (rate && samples.differs()) add("rate", "learners have minibatches of different sizes");
  if (std::ranges::any_of(laws, remembers))
    add("runtime", "measured times are replayed in their order");
  if (persistence) add("persistence", "times remember those before (persistence)");
  if (!windows.empty()) add("windows", "learners are slow for a while (windows)");
  if (!outliers) return all;
  if (!outliers->probability) {
    add("outliers", "learners differ in the probability of outliers");
  } else if (outliers->most) {
    add("outliers", "outliers at a time are limited");
  } else if (!outliers->runtime || outliers->runtime->has_memory()) {
    add("outliers", "measured outliers are replayed in their order");
  }
  return all;
}

std::string_view ClusterRuntimes::why_no_common_law(std::uint32_t learners,
                                                    const PerLearner& samples) const {
  const auto all = differences(learners, samples);
  return all.empty() ? std::string_view{} : all.front().why;
}

std::string_view ClusterRuntimes::why_not_independent() const { return why_no_common_law(1, 1); }

DistributionProduct ClusterRuntimes::law_of(const Make& make) const {
  DistributionProduct drawn = laws[make.law];
  if (outliers) {
    drawn = make_mixture({1 - *outliers->probability, *outliers->probability},
                         {drawn, outliers->runtime});
  }
  if (!rate && make.speed == 1 && after == 0) return drawn;
  return shifted(drawn, (rate ? make.samples / *rate : 0) + after * make.speed, make.speed);
}

DistributionProduct ClusterRuntimes::common_law(std::uint32_t learners,
                                                const PerLearner& samples) const {
  if (!why_no_common_law(learners, samples).empty()) return nullptr;
  return law_of(make_of(0, samples));
}

double ClusterRuntimes::fastest(std::uint32_t learners, const PerLearner& samples) const {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t l = 0; l < std::min<std::size_t>(period(samples), learners); ++l) {
    const Make make = make_of(l, samples);
    if (!laws[make.law]) continue;
    const double time = laws[make.law]->mean() + (rate ? make.samples / *rate : 0);
    least = std::min(least, time / make.speed + after);
  }
  return std::isfinite(least) ? least : 0;
}

bool ClusterRuntimes::ties() const {
  const auto atoms = [](const DistributionProduct& law) { return law->has_atoms(); };
  return std::ranges::any_of(laws, atoms) || (outliers && atoms(outliers->runtime));
}

std::vector<double> ClusterRuntimes::means(std::uint32_t learners,
                                           const PerLearner& samples) const {
  if (!why_not_independent().empty()) return {};
  std::vector<double> means(learners);
  const std::size_t again = period(samples);
  for (std::size_t l = 0; l < learners; ++l)
    means[l] = l < again ? law_of(make_of(l, samples))->mean() : means[l - again];
  return means;
}

/// The different laws of a minibatch, and how many learners have each.
std::vector<ClusterRuntimes::LawOfSome> ClusterRuntimes::laws_of(std::uint32_t learners,
                                                                 const PerLearner& samples) const {
  std::map<Make, std::uint32_t> counts;
  for (std::uint32_t l = 0; l < learners; ++l) ++counts[make_of(l, samples)];
  std::vector<LawOfSome> result;
  for (const auto& [make, count] : counts) result.push_back({law_of(make), count});
  return result;
}

bool ClusterRuntimes::memoryless(std::uint32_t learners, const PerLearner& samples) const {
  return why_not_independent().empty() &&
         std::ranges::all_of(laws_of(learners, samples), [](const LawOfSome& one) {
           return one.law->ageing() == Ageing::memoryless;
         });
}

std::optional<double> ClusterRuntimes::slowest(std::uint32_t learners, const PerLearner& samples,
                                               std::uint32_t minibatches, double cap) const {
  if (!why_not_independent().empty()) return {};
  auto of_learners = laws_of(learners, samples);
  std::vector<Draws> draws;
  for (auto& [law, count] : of_learners) {
    if (minibatches > 1) law = law->sum(minibatches);
    if (!law) return {};
    draws.push_back({law.get(), count});
  }
  return integrate_largest(draws, cap);
}

std::optional<double> ClusterRuntimes::kth_smallest(std::uint32_t learners,
                                                    const PerLearner& samples,
                                                    std::uint32_t k) const {
  if (!why_not_independent().empty() || std::uint64_t{k} * learners > most_integrated) return {};
  const auto of_learners = laws_of(learners, samples);
  std::vector<Draws> draws;
  for (const auto& [law, count] : of_learners) draws.push_back({law.get(), count});
  return integrate_kth_smallest(draws, k);
}

void examine_length(Fields& fields, std::string_view key, std::size_t length,
                    std::uint32_t learners) {
  const std::string most = std::to_string(learners);
  fields.idle(key, length > learners,
              "has " + std::to_string(length) + " values, and there are " + most +
                  " learners (cluster.learners)",
              "at most " + most + "; a shorter list begins again");
}

/// Visits the key `slow`, learners whose minibatches take `factor` times as long, and divides their
/// speeds by it; learner l has speeds[l mod size].  Whether the key is there.
static bool visit_slow(Fields& fields, std::vector<double>& speeds, std::uint32_t learners) {
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

void visit_cluster_runtimes(Fields& fields, ClusterRuntimes& cluster, std::uint32_t learners) {
  constexpr std::string_view law_meaning =
      "law of the time X of one minibatch; its unit is the unit of all times";
  DistributionProduct law;
  read_kind(fields, "runtime", distribution_catalog(), law, Need::none, law_meaning);
  read_kinds(fields, "runtimes", distribution_catalog(), cluster.laws, Need::none,
             "in place of runtime: learner l draws from runtimes[l mod length]");
  if (fields.has("runtime") && fields.has("runtimes")) {
    fields.complain("runtimes", "stands in place of runtime; one of them is too much");
  } else if (!fields.has("runtime") && !fields.has("runtimes")) {
    fields.complain("runtime", "required key is missing",
                    std::string(law_meaning) + "; or runtimes, a list of laws");
  } else if (!fields.has("runtime") && cluster.laws.empty() && fields.good()) {
    fields.complain("runtimes", "must be at least one");
  }
  if (law) cluster.laws = {law};
  if (fields.open("outliers", Need::none, "rare minibatches whose X is drawn from another law")) {
    visit_outliers(fields, cluster.outliers.emplace());
    fields.close();
  }
  fields.real("rate", cluster.rate, at_least(1e-9),
              "samples per unit of time: a minibatch of m takes m / rate + X");
  read_kind(fields, "persistence", persistence_catalog(), cluster.persistence, Need::none,
            "what a learner's times remember: a factor on m / rate + X");
  fields.reals("speeds", cluster.speeds, Need::none, between(1e-9, 1e9),
               "the times of learner l are divided by speeds[l mod length] (default: 1)");
  if (cluster.speeds.empty()) fields.complain("speeds", "must be at least one");
  examine_length(fields, "speeds", cluster.speeds.size(), learners);
  if (!law) examine_length(fields, "runtimes", cluster.laws.size(), learners);
  cluster.slow = visit_slow(fields, cluster.speeds, learners);
  cluster.windows = read_windows(fields, learners);
}

MakeRuntimes make_cluster_runtimes(std::shared_ptr<const ClusterRuntimes> cluster,
                                   std::uint32_t learners) {
  if (are_independent_draws(*cluster)) return {};
  return [cluster, learners](std::uint64_t seed, std::uint32_t replica) {
    return std::make_unique<Composition>(cluster, learners, seed, replica);
  };
}

}  // namespace gradrace
