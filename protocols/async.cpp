#include "protocols/staleness/bound.h"

namespace gradrace {

namespace {

constexpr Page page{.name = "async",
                    .definition = R"(Every gradient is an update, made when it arrives; the learner
that sent it reads the new version and goes on, the others keep computing at the versions they read.)",
                    .source = "Dutta et al., AISTATS 2018, sec. 2.3, eq. 4",
                    .example = R"({"kind": "async"})"};

class Async final : public ServerProtocol {
 public:
  struct Config {};
  static void visit(Fields&, Config&, std::uint32_t) {}

  Async(const Config&, std::uint32_t) {}

  void on_gradient(Server& server, const GradientFacts& arrival) override {
    server.apply(arrival);
    server.dispatch(arrival.learner);
  }

  std::uint32_t k() const override { return 1; }
  Traits traits() const override { return {.never_waits = true, .by_shard = true}; }

  /// E[T] = E[X]/P (Lemma 4 with K = 1); the mean staleness is P - 1 for any law.
  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    return {{time_of_minibatches(conditions, 1), Basis::exact}};
  }
  Staleness staleness(std::uint32_t learners) const override {
    return {learners - 1.0, ReadOrder::after_arrival};
  }
};

}  // namespace

extern const ProtocolEntry async_entry{page, read_with_staleness_bound<Async>};

}  // namespace gradrace
