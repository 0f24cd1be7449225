#include "sim/make_protocol.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "deadline",
    .definition = R"(All P learners read the current version together and compute one minibatch
each. The update is made of the gradients that are in when K are, or `time` after the last update
(or the start) if at least one is, else when the first comes; the others are cancelled. A gradient
that arrives at the very deadline is in. With a time beyond any runtime it is k-sync, with K = P
then sync.)",
    .source = "k-sync (Dutta et al., AISTATS 2018, sec. 2.3) with a deadline",
    .example = R"({"kind": "deadline", "k": 4, "time": 0.5})"};

class Deadline final : public ServerProtocol {
 public:
  struct Config {
    std::uint32_t k = 1;
    double time = 0;
  };
  static void visit(Fields& fields, Config& config, std::uint32_t learners) {
    fields.integer("k", config.k, Need::required, between(1, learners, "cluster.learners"),
                   "K: gradients in an update, at most");
    fields.real("time", config.time, Need::required, positive(),
                "after the last update, from when on one gradient suffices");
  }

  Deadline(const Config& config, std::uint32_t) : config_(config) {}

  void start(Server& server) override { begin_step(server); }

  void on_gradient(Server& server, const GradientFacts& arrival) override {
    server.accept(arrival);
    if (server.accepted() >= config_.k || late_) update(server);
  }

  void on_timer(Server& server) override {
    late_ = true;
    if (server.accepted() > 0) update(server);
  }

  Traits traits() const override { return {.fewer_than_k = config_.k > 1}; }
  std::uint32_t k() const override { return config_.k; }

  /// A step lasts beyond t where t < time and fewer than K gradients are in, or t >= time and none
  /// is: E[T] is the integral of P(X_{K:P} > t) from 0 to time and of P(X_{1:P} > t) from there on.
  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    if (!conditions.law) return {};
    const Distribution& law = *conditions.law;
    const std::uint32_t learners = conditions.learners;
    const auto before = [&](std::uint32_t k) {
      return law.expected_capped_order_statistic(k, learners, config_.time);
    };
    const double after = law.expected_order_statistic(1, learners) - before(1);
    return {{before(config_.k) + after, Basis::exact}};
  }
  Staleness staleness(std::uint32_t) const override { return {0.0}; }

 private:
  void update(Server& server) {
    server.update();
    for (std::uint32_t learner = 0; learner < server.learners(); ++learner) {
      if (const auto* gradient = server.computing(learner)) server.cancel(*gradient);
    }
    begin_step(server);
  }

  void begin_step(Server& server) {
    late_ = false;
    server.dispatch_waiting();
    server.timer(server.time() + config_.time);
  }

  Config config_;
  bool late_ = false;  // the deadline is over
};

}  // namespace

extern const ProtocolEntry deadline_entry{page, read_protocol<Deadline>};

}  // namespace gradrace
