#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "protocols/rejoining_step.h"
#include "sim/make_protocol.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "backup",
    .definition = R"(Synchronous with b backup workers: the first N = P - b gradients of the current
version make the update; a late one is dropped when it arrives, nobody is interrupted. Who delivered
in time waits for the update and reads the next version.

A late learner reads the current version and joins the step in progress (late = rejoin), waits for
the next version (wait), or is cancelled at the update (cancel: k-sync).

With tokens = shared, as in TensorFlow, an update puts P tokens of the new step in a queue (N of
step 0 are there at the start); after every gradient a learner takes one, blocked until there is
one, and reads the current version; its next gradient counts if its token's step is current.)",
    .source =
        "Pan, Chen, Monga, Bengio, Jozefowicz, arXiv 1702.05800, 2017, sec. 3, Algorithms 3 and 4; "
        "tokens: TensorFlow, SyncReplicasOptimizer",
    .example = R"({"kind": "backup", "backups": 1})"};

constexpr std::string_view late_words[] = {"rejoin", "wait", "cancel"};

/// Mean time to the n-th fresh gradient when X is exponential of mean 1 and a late learner rejoins:
/// n learners compute a fresh gradient and b must finish a late one before they begin theirs.
double memoryless_step(std::uint32_t n, std::uint32_t b) {
  std::vector<double> to_go(b + 1, 0.0);  // [learners that are late]
  for (std::uint32_t delivered = n; delivered-- > 0;) {
    const double computing = n + b - delivered;
    for (std::uint32_t late = 0; late <= b; ++late) {
      const double after_late = late == 0 ? 0 : late * to_go[late - 1];
      to_go[late] = (1 + after_late + (computing - late) * to_go[late]) / computing;
    }
  }
  return to_go[b];
}

class Backup final : public ServerProtocol {
 public:
  struct Config {
    std::optional<std::uint64_t> backups, k;
    std::string late = "rejoin";
    bool shared = false;  // tokens
  };
  static void visit(Fields& fields, Config& config, std::uint32_t learners) {
    fields.integer("backups", config.backups, between(0, learners - 1.0, "cluster.learners - 1"),
                   "b: learners that an update does not wait for; this or k");
    fields.integer("k", config.k, between(1, learners, "cluster.learners"),
                   "N: gradients in an update; this or backups");
    fields.choice("late", config.late, late_words, Need::defaulted,
                  "what a late learner does next");
    config.shared = fields.second_of("tokens", "bound", "shared",
                                     "whether another learner may compute in a late one's place");
    if (fields.has("backups") && fields.has("k")) {
      fields.complain("k", "says again what backups says", "one of the two");
    }
    if (!fields.has("backups") && !fields.has("k")) fields.complain("", "needs backups or k");
    if (config.shared && config.late != "rejoin") {
      fields.complain("late", "has no meaning with shared tokens, got \"" + config.late + "\"",
                      "tokens bound beside it");
    }
    const bool has_none = config.backups == 0 || config.k == learners;
    fields.idle("late", has_none && !config.shared && config.late != Config().late,
                "says nothing without backups: an update waits for all, and nobody is late",
                "backups from 1 on beside it");
  }

  Backup(const Config& config, std::uint32_t learners)
      : k_(static_cast<std::uint32_t>(config.k ? *config.k : learners - *config.backups)),
        rejoins_(config.late == "rejoin"),
        cancels_(config.late == "cancel"),
        shared_(config.shared),
        step_(shared_ ? learners : 0) {}

  void start(Server& server) override {
    first_version_ = server.version();
    server.dispatch_waiting();
  }

  void on_gradient(Server& server, const GradientFacts& arrival) override {
    if (shared_) return on_gradient_of_token(server, arrival);
    if (arrival.version != server.version()) {
      server.drop(arrival);
      const bool is_of_this_phase = arrival.version >= first_version_;
      if (rejoins_ || !is_of_this_phase) server.dispatch(arrival.learner);
      return;
    }
    server.accept(arrival);
    if (server.accepted() < k_) return;
    server.update();
    if (cancels_) server.cancel_all();
    server.dispatch_waiting();
  }

  Traits traits() const override { return {.restarts_all = cancels_}; }

  std::uint32_t k() const override { return k_; }

  /// b = 0, cancel: E[X_{N:P}].  Else no learner delivers twice in a step, or before a whole
  /// minibatch begun in it or after it began: E[X_{N:P}] is a lower bound.  A step of the
  /// memoryless begins with N fresh and b late learners, whatever was before: the rejoining have an
  /// exact time. Shared tokens: P minibatches are computed for an update in the long run, by
  /// learners without idle time at best; without backups the extra tokens of the start are soon
  /// spent, and it is sync; the first updates come up to about a minibatch sooner or later.
  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    const std::uint32_t learners = conditions.learners, backups = learners - k_;
    if (shared_ && backups > 0)
      return {{conditions.law ? conditions.law->mean() : time_of_minibatches(conditions, learners),
               Basis::lower}};
    const auto rejoining = backups > 0 && rejoins_ ? rejoining_time(conditions) : std::nullopt;
    if (rejoining) return {{*rejoining, Basis::exact}};
    return estimate(order_statistic(conditions, k_), basis(backups));
  }
  Staleness staleness(std::uint32_t) const override { return {0.0}; }

 private:
  /// Of learners without memory, where late ones rejoin.
  std::optional<double> rejoining_time(const Conditions& conditions) const {
    if (!conditions.law)
      return conditions.memoryless ? rejoining_step(conditions.means, k_) : std::nullopt;
    const std::uint32_t backups = conditions.learners - k_;
    const bool short_enough = std::uint64_t{k_} * backups <= 100'000'000;
    if (!short_enough || conditions.law->ageing() != Ageing::memoryless) return {};
    return conditions.law->mean() * memoryless_step(k_, backups);
  }

  /// Of E[X_{N:P}].
  Basis basis(std::uint32_t backups) const {
    if (backups > 0) return cancels_ ? Basis::exact : Basis::lower;
    return shared_ ? Basis::approximate : Basis::exact;
  }

  void on_gradient_of_token(Server& server, const GradientFacts& arrival) {
    if (arrival.version < first_version_ || step_[arrival.learner] < step(server)) {
      server.drop(arrival);
    } else {
      server.accept(arrival);
    }
    blocked_.push_back(arrival.learner);
    if (server.accepted() == k_) server.update();
    const std::uint64_t issued = k_ + std::uint64_t{server.learners()} * step(server);
    for (; !blocked_.empty() && taken_ < issued; ++taken_) {
      const std::uint32_t learner = blocked_.front();
      blocked_.pop_front();
      step_[learner] = step_of_token(taken_, server.learners());
      server.dispatch(learner);
    }
  }

  /// Counted from the protocol's start, as tokens are.
  std::uint32_t step(const Server& server) const { return server.version() - first_version_; }

  std::uint32_t step_of_token(std::uint64_t token, std::uint32_t learners) const {
    return token < k_ ? 0 : static_cast<std::uint32_t>(1 + (token - k_) / learners);
  }

  std::uint32_t k_;
  bool rejoins_, cancels_, shared_;
  std::uint32_t first_version_ = 0;
  std::vector<std::uint32_t> step_;    // [learner], of the token that it holds
  std::deque<std::uint32_t> blocked_;  // learners, the first to block first
  std::uint64_t taken_ = 0;            // tokens
};

}  // namespace

extern const ProtocolEntry backup_entry{page, read_protocol<Backup>};

}  // namespace gradrace
