#include "protocols/bases/k_gradients.h"
#include "protocols/clients/clients.h"

namespace gradrace {

namespace {

constexpr Page page{.name = "k-sync",
                    .definition = R"(The server waits for the first K learners, each computing one
minibatch at the current version; the other P - K are cancelled, and all P read the next version.)",
                    .source = "Dutta et al., AISTATS 2018, sec. 2.3, eq. 2",
                    .example = R"({"kind": "k-sync", "k": 4})"};

class KSync final : public KLearners {
 public:
  using KLearners::KLearners;

  void on_gradient(Server& server, const GradientFacts& arrival) override {
    server.accept(arrival);
    if (server.accepted() < k_) return;
    server.update();
    server.cancel_all();
    server.dispatch_waiting();
  }

  Traits traits() const override { return {.restarts_all = true}; }

  /// E[T] = E[X_{K:P}] (Lemma 3).
  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    return estimate(order_statistic(conditions, k_), Basis::exact);
  }
  Staleness staleness(std::uint32_t) const override { return {0.0}; }
};

}  // namespace

extern const ProtocolEntry k_sync_entry{page, read_with_clients<KSync>};

}  // namespace gradrace
