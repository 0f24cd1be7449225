
#include "sim/make_protocol.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "softsync",
    .definition = R"(n-softsync: the server updates when c = floor(P/n) gradients are in, from any
learners, each computed at the version that its learner read; none is dropped, nobody waits. Who
delivered reads the current version and goes on: after the update that its own gradient completed,
if it did (pull = after), or before it (before). n = 1 is not sync; n = P is async.)",
    .source = "Zhang, Gupta, Lian, Liu, Staleness-aware Async-SGD, IJCAI 2016, sec. 2.2 and 2.4",
    .example = R"({"kind": "softsync", "n": 2})"};

class Softsync final : public ServerProtocol {
 public:
  struct Config {
    std::uint32_t n = 1;
    bool pulls_before = false;
  };
  static void visit(Fields& fields, Config& config, std::uint32_t learners) {
    fields.integer("n", config.n, Need::required, between(1, learners, "cluster.learners"),
                   "splitting parameter: floor(P/n) gradients in an update");
    config.pulls_before =
        fields.second_of("pull", "after", "before",
                         "whether a learner reads after or before its own gradient's update");
  }

  Softsync(const Config& config, std::uint32_t learners)
      : c_(learners / config.n), pulls_before_(config.pulls_before) {}

  void on_gradient(Server& server, const GradientFacts& arrival) override {
    server.accept(arrival);
    if (pulls_before_) server.dispatch(arrival.learner);
    if (server.accepted() >= c_) server.update();
    if (!pulls_before_) server.dispatch(arrival.learner);
  }

  std::uint32_t k() const override { return c_; }

  Traits traits() const override { return {.by_shard = !pulls_before_}; }

  /// E[T] = c E[X]/P for any law: nobody is ever idle.  Every update makes those gradients one
  /// version staler that are being computed: all P, or all but the one of the learner that has not
  /// read yet.  So the mean staleness is P/c or (P - 1)/c for any law.
  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    return {{time_of_minibatches(conditions, c_), Basis::exact}};
  }
  Staleness staleness(std::uint32_t learners) const override {
    const double computing = pulls_before_ ? learners : learners - 1.0;
    return {computing / c_, pulls_before_ ? ReadOrder::before_update : ReadOrder::after_arrival};
  }

 private:
  std::uint32_t c_;
  bool pulls_before_;
};

}  // namespace

extern const ProtocolEntry softsync_entry{page, read_protocol<Softsync>};

}  // namespace gradrace
