#include "protocols/bases/k_gradients.h"
#include "protocols/staleness/bound.h"

namespace gradrace {

namespace {

constexpr Page page{.name = "k-batch-async",
                    .definition = R"(The server waits for K minibatches since the last update, from
any learners, repeats allowed, each computed at the version that its learner read; who delivered
reads the current version and goes on at once, nobody is idle or cancelled. K = 1 is async; K may
exceed P.

With `tau` > 1, here as in sync, k-sync, async and k-async, a learner makes tau steps of its own from
the version it has read, and sends what they add up to:

    y_0 = x;  y_{j+1} = y_j - eta g_j,  j < tau;  g = g_0 + ... + g_{tau-1}

with eta the rate of a fresh gradient as it begins.  To the server g is a gradient: its staleness is
that of x, its rate that of the update, and the optimiser acts on sums of these alone.  Gradients
are counted as they are sent, epochs by the samples of all steps.  A learner's model and gradient
are on their way once for all tau.  That is FedBuff with s(delta) the learning rate's staleness rule
and, with sync and `clients`, FedAvg.)",
                    .source =
                        "Dutta et al., AISTATS 2018, sec. 2.3, eq. 3; tau: Nguyen et al., "
                        "AISTATS 2022 (FedBuff)",
                    .example = R"({"kind": "k-batch-async", "k": 4})"};

class KBatchAsync final : public KGradients {
 public:
  using KGradients::KGradients;

  void on_gradient(Server& server, const GradientFacts& arrival) override {
    server.accept(arrival);
    if (server.accepted() >= k_) server.update();
    server.dispatch(arrival.learner);
  }

  Traits traits() const override { return {.by_shard = true}; }

  /// E[T] = K E[X]/P for any law (Lemma 4, elementary renewal theorem); the mean staleness is (P -
  /// 1)/K.
  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    return {{time_of_minibatches(conditions, k_), Basis::exact}};
  }
  Staleness staleness(std::uint32_t learners) const override {
    return {(learners - 1.0) / k_, ReadOrder::after_arrival};
  }
};

}  // namespace

extern const ProtocolEntry k_batch_async_entry{page, read_with_staleness_bound<KBatchAsync>};

}  // namespace gradrace
