#include <algorithm>
#include <deque>
#include <vector>

#include "sim/make_protocol.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "ssp",
    .definition = R"(Stale synchronous parallel: every gradient is an update, made when it arrives.
A learner's clock is the number of minibatches it has completed; one at clock c starts the next as
soon as the slowest is at c - s or later, s = bound, and reads everything applied so far. s = 0 is a
barrier after every clock, a large s is async.)",
    .source =
        "Ho et al., More Effective Distributed ML via a Stale Synchronous Parallel Parameter "
        "Server, NIPS 2013; what is read: its refresh by push (Dai et al., AAAI 2015: ESSP)",
    .example = R"({"kind": "ssp", "bound": 2})"};

class Ssp final : public ServerProtocol {
 public:
  struct Config {
    std::uint32_t bound = 0;
  };
  static void visit(Fields& fields, Config& config, std::uint32_t) {
    fields.integer("bound", config.bound, Need::required, at_least(0),
                   "s: clocks that a learner may be ahead of the slowest when it starts");
  }

  Ssp(const Config& config, std::uint32_t learners)
      : config_(config), clock_(learners, 0), at_{learners} {}

  void on_gradient(Server& server, const GradientFacts& arrival) override {
    server.apply(arrival);
    const std::uint32_t ahead = ++clock_[arrival.learner] - slowest_;
    if (ahead == at_.size()) at_.push_back(0);
    ++at_[ahead];
    --at_[ahead - 1];
    if (at_.front() == 0) {
      at_.pop_front();
      ++slowest_;
      server.dispatch_waiting();  // all of them wait at slowest + s
    } else if (ahead <= config_.bound) {
      server.dispatch(arrival.learner);
    }
  }

  std::uint32_t k() const override { return 1; }

  Traits traits() const override { return {.by_shard = true}; }

  /// s = 0: P updates in E[X_{P:P}], made while P - 1, ..., 0 others compute: the mean staleness is
  /// (P - 1)/2.  Else at least E[X]/P, without idle time, and in the long run all make as many
  /// minibatches as the slowest.  (Nor is it slower than with a smaller s: starts are maxima of
  /// ends, fewer of them.)
  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    const double P = conditions.learners;
    if (config_.bound == 0) {
      const auto slowest = slowest_minibatch(conditions);
      return slowest ? std::optional(Estimate{*slowest / P, Basis::exact}) : std::nullopt;
    }
    const double of_slowest = conditions.law ? 0 : std::ranges::max(conditions.means) / P;
    return {{std::max(time_of_minibatches(conditions, 1), of_slowest), Basis::lower}};
  }
  Staleness staleness(std::uint32_t learners) const override {
    if (config_.bound > 0) return {};
    return {(learners - 1.0) / 2};
  }

 private:
  Config config_;
  std::vector<std::uint32_t> clock_;  // [learner]
  std::deque<std::uint32_t> at_;      // learners at clock slowest + i
  std::uint32_t slowest_ = 0;
};

}  // namespace

extern const ProtocolEntry ssp_entry{page, read_protocol<Ssp>};

}  // namespace gradrace
