#include "protocols/clients/clients.h"

namespace gradrace {

namespace {

constexpr Page page{.name = "sync",
                    .definition = R"(Fully synchronous: the server waits for the gradients of all P
learners, each computed at the current version; then all read the next one.  With `tau` (see
k-batch-async) and `clients` it is FedAvg.)",
                    .source =
                        "Dutta et al., AISTATS 2018, sec. 2.3, eq. 2 with K = P; tau: McMahan "
                        "et al., AISTATS 2017 (FedAvg)",
                    .example = R"({"kind": "sync"})"};

constexpr Page hardsync_page{.name = "hardsync",
                             .definition = "Another name of sync, beside softsync.",
                             .source = "Zhang, Gupta, Lian, Liu, IJCAI 2016, sec. 2.2",
                             .example = R"({"kind": "hardsync"})"};

class Sync final : public ServerProtocol {
 public:
  struct Config {};
  static void visit(Fields&, Config&, std::uint32_t) {}

  Sync(const Config&, std::uint32_t learners) : learners_(learners) {}

  void on_gradient(Server& server, const GradientFacts& arrival) override {
    server.accept(arrival);
    if (server.accepted() < server.learners()) return;
    server.update();
    server.dispatch_waiting();
  }

  Traits traits() const override {
    return {.takes_all = true, .restarts_all = true, .by_shard = true};
  }

  std::uint32_t k() const override { return learners_; }

  /// E[T] = E[X_{P:P}] (Lemma 3 with K = P).
  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    return estimate(slowest_minibatch(conditions), Basis::exact);
  }
  Staleness staleness(std::uint32_t) const override { return {0.0}; }

 private:
  std::uint32_t learners_;
};

}  // namespace

extern const ProtocolEntry sync_entry{page, read_with_clients<Sync>};
extern const ProtocolEntry hardsync_entry{hardsync_page, read_with_clients<Sync>};

}  // namespace gradrace
