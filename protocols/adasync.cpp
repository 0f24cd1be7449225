#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "sim/protocol.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "adasync",
    .definition =
        "One of the four K-variants, whose K follows the loss F: every `interval` of time the loss "
        "is looked at (on record.train_rows rows; it costs no time) and K is set, from the next "
        "update on, to the solution of K^2 T'(K) = r k0^2 T'(k0), rounded, at most P; r = F(start) "
        "/ F(now), T(K) the expected time between updates. Rule `closed`: T of exponential "
        "runtimes, a shift allowed: K^2 / (P - K) = r k0^2 / (P - k0) for k-sync and k-async, K = "
        "k0 sqrt(r) for the batch variants. Rule `numerical`: the differences of E[X_{K:P}] of the "
        "cluster's own law stand for T'. The losses are taken as above a least loss of 0.",
    .source = "Dutta, Wang, Joshi, IEEE JSAIT 2021 (AdaSync); the rules derived from its bound",
    .example = R"({"kind": "adasync", "variant": "k-async", "k0": 1, "interval": 10})"};

constexpr std::array<std::string_view, 4> variants{"k-sync", "k-batch-sync", "k-async",
                                                   "k-batch-async"};
constexpr std::array<std::string_view, 2> rules{"closed", "numerical"};

struct Config {
  std::string variant = "k-sync";
  std::uint32_t k0 = 1;
  double interval = 1;
  bool monotone = false;
  std::string rule = "closed";

  bool cancels() const { return variant == "k-sync" || variant == "k-batch-sync"; }
  bool batch() const { return variant == "k-batch-sync" || variant == "k-batch-async"; }
};

/// K^2 T'(K), up to a factor; increasing in K.
using Slope = std::function<double(double k)>;

/// The K in 1 to P nearest to the root of slope(K) = wanted.
std::uint32_t nearest_root(const Slope& slope, double wanted, std::uint32_t learners) {
  std::uint32_t low = 1, high = learners;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (slope(middle + 0.5) <= wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// T' is the difference of the order statistics next to k, whole or half.
Slope numerical_slope(std::shared_ptr<const Distribution> law, std::uint32_t learners) {
  return [law = std::move(law), learners](double k) {
    const bool whole = k == std::floor(k);
    const double below = std::max(1.0, whole ? k - 1 : k - 0.5);
    const double above = std::min<double>(learners, whole ? k + 1 : k + 0.5);
    if (above <= below) return 0.0;  // P = 1
    const auto time = [&](double at) {
      return law->expected_order_statistic(static_cast<std::uint32_t>(at), learners);
    };
    return k * k * (time(above) - time(below)) / (above - below);
  };
}

class AdaSync final : public Protocol {
 public:
  AdaSync(const Config& config, std::uint32_t learners, Slope slope)
      : config_(config), learners_(learners), slope_(std::move(slope)) {}

  void start(Server& server) override {
    server.dispatch_waiting();
    begin_ = server.time();
    server.evaluate_at(begin_);
  }

  void on_gradient(Server& server, const Arrival& arrival) override {
    server.accept(arrival);
    if (server.accepted() < k_) {
      if (batch_) server.dispatch(arrival.learner);
      return;
    }
    server.update();
    k_ = next_k_;
    if (cancels_) server.cancel_all();
    server.dispatch_waiting();
  }

  void on_evaluation(Server& server, const Evaluation& evaluation) override {
    if (looks_ == 0) first_loss_ = evaluation.loss;
    const double r = evaluation.loss > 0 ? first_loss_ / evaluation.loss
                                         : std::numeric_limits<double>::infinity();
    const std::uint32_t k = nearest_root(slope_, r * slope_(config_.k0), learners_);
    next_k_ = config_.monotone ? std::max(next_k_, k) : k;
    server.evaluate_at(begin_ + static_cast<double>(++looks_) * config_.interval);
  }

  bool needs_evaluations() const override { return true; }
  std::uint32_t k() const override { return k_; }

  /// Not known: K depends on the losses.
  Theory theory(const Distribution&, std::uint32_t learners) const override {
    return cancels_ || learners == 1 ? Theory{{}, 0.0} : Theory{};
  }

 private:
  const Config config_;
  const std::uint32_t learners_;
  const Slope slope_;
  const bool cancels_ = config_.cancels(), batch_ = config_.batch();
  std::uint32_t k_ = config_.k0, next_k_ = k_;
  std::uint64_t looks_ = 0;
  double begin_ = 0, first_loss_ = 0;
};

MakeProtocol read(Fields& fields, const Setting& setting) {
  Config config;
  fields.choice("variant", config.variant, variants, Need::defaulted, "whose K is changed");
  fields.integer("k0", config.k0, Need::defaulted, between(1, setting.learners, "cluster.learners"),
                 "K at the start");
  fields.real("interval", config.interval, Need::required, positive(),
              "time between two looks at the loss");
  fields.flag("monotone", config.monotone, Need::defaulted, "K never falls");
  fields.choice("rule", config.rule, rules, Need::defaulted, "which T the rule takes");
  if (!fields.good()) return {};
  const double p = setting.learners;
  Slope slope = [p](double k) { return k * k / (p - k); };
  if (config.batch()) {
    slope = [](double k) { return k * k; };
  } else if (config.rule == "numerical") {
    if (!setting.runtime) {
      fields.complain("rule", "needs one law of the runtimes for all learners", "closed");
      return {};
    }
    slope = numerical_slope(setting.runtime, setting.learners);
  }
  return [config, learners = setting.learners, slope] {
    return std::make_unique<AdaSync>(config, learners, slope);
  };
}

}  // namespace

extern const ProtocolEntry adasync_entry{page, read};

}  // namespace gradrace
