#include <algorithm>

#include "protocols/bases/k_gradients.h"

namespace gradrace {

namespace {

constexpr Page page{.name = "k-batch-sync",
                    .definition = R"(The server waits for K minibatches at the current version, from
any learners, repeats allowed: who delivered starts the next one at once, at the same version. At
the update everything in flight is cancelled and all P read the next version. K may exceed P.)",
                    .source = "Dutta et al., AISTATS 2018, sec. 2.3, eq. 2",
                    .example = R"({"kind": "k-batch-sync", "k": 4})"};

class KBatchSync final : public KGradients {
 public:
  using KGradients::KGradients;

  void on_gradient(Server& server, const GradientFacts& arrival) override {
    server.accept(arrival);
    if (server.accepted() < k_) return server.dispatch(arrival.learner);
    server.update();
    server.cancel_all();
    server.dispatch_waiting();
  }

  /// Every update starts P renewal processes anew.  K = 1: E[X_{1:P}].  Exponential X: K E[X]/P (an
  /// Erlang time).  For any X, E[T] <= E[X_{K:P}], the time of k-sync, as who has delivered goes
  /// on. By Wald's equation E[T] >= K E[X]/P where a new minibatch takes longer than a used one, <=
  /// where it takes shorter.
  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    const double renewal = time_of_minibatches(conditions, k_);
    const auto ageing = conditions.law ? conditions.law->ageing() : Ageing::neither;
    if (ageing == Ageing::memoryless) return {{renewal, Basis::exact}};
    const bool shorter = ageing == Ageing::new_shorter;
    if (k_ > conditions.learners) {
      if (ageing == Ageing::neither) return {};
      return {{renewal, shorter ? Basis::upper : Basis::lower}};
    }
    const auto of_sync = order_statistic(conditions, k_);
    if (shorter && k_ > 1) return {{std::min(*of_sync, renewal), Basis::upper}};
    return estimate(of_sync, k_ == 1 ? Basis::exact : Basis::upper);
  }
  Staleness staleness(std::uint32_t) const override { return {0.0}; }
};

}  // namespace

extern const ProtocolEntry k_batch_sync_entry{page, read_protocol<KBatchSync>};

}  // namespace gradrace
