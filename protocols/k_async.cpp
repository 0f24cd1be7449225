#include <algorithm>

#include "protocols/bases/k_gradients.h"
#include "protocols/staleness/bound.h"

namespace gradrace {

namespace {

constexpr Page page{.name = "k-async",
                    .definition = R"(The server waits for the first K learners and updates with
their gradients, each computed at the version that its learner read; only those K read the new
version, the others go on. K = 1 is async, K = P is sync.)",
                    .source = "Dutta et al., AISTATS 2018, sec. 2.3, eq. 3",
                    .example = R"({"kind": "k-async", "k": 4})"};

class KAsync final : public KLearners {
 public:
  using KLearners::KLearners;

  void on_gradient(Server& server, const GradientFacts& arrival) override {
    server.accept(arrival);
    if (server.accepted() < k_) return;
    server.update();
    server.dispatch_waiting();
  }

  Traits traits() const override { return {.by_shard = true}; }

  /// K = 1: E[X]/P; K = P: E[X_{P:P}].  Between, E[X_{K:P}] is exact for exponential X, an upper
  /// bound where a new minibatch takes longer than a used one (Lemma 5), a lower one where it takes
  /// shorter (the same proof, reversed); for any X, and of learners that are unlike, at least
  /// K E[X]/P, without idle time.  The mean staleness is (P - K)/K for any law.
  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    const double never_idle = time_of_minibatches(conditions, k_);
    if (k_ == 1) return {{never_idle, Basis::exact}};
    if (k_ == conditions.learners) return estimate(slowest_minibatch(conditions), Basis::exact);
    if (!conditions.law) return {{never_idle, Basis::lower}};
    const double of_sync = conditions.law->expected_order_statistic(k_, conditions.learners);
    const auto ageing = conditions.law->ageing();
    if (ageing == Ageing::memoryless) return {{of_sync, Basis::exact}};
    if (ageing == Ageing::new_longer) return {{of_sync, Basis::upper}};
    const bool shorter = ageing == Ageing::new_shorter;
    return {{shorter ? std::max(of_sync, never_idle) : never_idle, Basis::lower}};
  }
  Staleness staleness(std::uint32_t learners) const override {
    return {(learners - 1.0 * k_) / k_, ReadOrder::together};
  }
};

}  // namespace

extern const ProtocolEntry k_async_entry{page, read_with_staleness_bound<KAsync>};

}  // namespace gradrace
