#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "protocols/bases/loss_interval.h"
#include "sim/make_protocol.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "adasync",
    .definition = R"(One of the four K-variants, whose K follows the loss F: every `interval` of
time the loss is looked at (on record.train_rows rows; it costs no time) and K is set, for the
updates after the one in progress, to the solution of

    K^2 T'(K) = r k0^2 T'(k0),   r = F(start) / F(now),

rounded, at most P; both losses above `least_loss`, T(K) the expected time between updates.

Rule `closed`: T of exponential runtimes, a shift allowed,

    K^2 / (P - K) = r k0^2 / (P - k0)   for k-sync and k-async,
    K = k0 sqrt(r)                      for the batch variants.

Rule `numerical`: T = E[X_{K:P}] of the cluster's own law, and the K of the least

    T(K) + r C / K,   C = k0^2 T'(k0),

the bound whose stationary point the equation above is.)",
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
  double least_loss = 0;

  bool cancels() const { return variant == "k-sync" || variant == "k-batch-sync"; }
  bool batch() const { return variant == "k-batch-sync" || variant == "k-batch-async"; }
};

/// The K in 1 to P for a loss that has fallen by the factor r.
using Choice = std::function<std::uint32_t(double r)>;

/// K^2 T'(K), up to a factor; increasing in K.
using Slope = double (*)(double k, double p);

double slope_of_exponential(double k, double p) { return k * k / (p - k); }
double slope_of_batches(double k, double) { return k * k; }

/// The K nearest to the root of slope(K) = r slope(k0).
Choice closed_choice(Slope slope, std::uint32_t k0, std::uint32_t learners) {
  return [=](double r) {
    const double p = learners, wanted = r * slope(k0, p);
    std::uint32_t low = 1, high = learners;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (slope(middle + 0.5, p) <= wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
}

/// The K of the least T(K) + r C / K, the bound that the rule is derived from; C = k0^2 T'(k0), T'
/// by central differences.  Among equals the largest.
Choice numerical_choice(const Distribution& law, std::uint32_t k0, std::uint32_t learners) {
  std::vector<double> time(learners + 1);
  for (std::uint32_t k = 1; k <= learners; ++k) time[k] = law.expected_order_statistic(k, learners);
  const std::uint32_t below = std::max(1u, k0 - 1), above = std::min(learners, k0 + 1);
  const double rise = above > below ? (time[above] - time[below]) / (above - below) : 0;
  const double c = static_cast<double>(k0) * k0 * rise;
  return [time = std::move(time), c, learners](double r) {
    if (std::isinf(r)) return learners;
    const auto bound = [&](std::uint32_t k) { return time[k] + r * c / k; };
    std::uint32_t best = 1;
    for (std::uint32_t k = 2; k <= learners; ++k) best = bound(k) <= bound(best) ? k : best;
    return best;
  };
}

class AdaSync final : public ServerProtocol {
 public:
  AdaSync(const Config& config, Choice choice) : config_(config), choice_(std::move(choice)) {}

  void start(Server& server) override {
    server.dispatch_waiting();
    begin_ = server.time();
    server.evaluate_at(begin_);
  }

  void on_gradient(Server& server, const GradientFacts& arrival) override {
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
    const double loss = evaluation.loss - config_.least_loss;
    if (looks_ == 0) first_loss_ = loss;
    const double r = loss > 0 ? first_loss_ / loss : std::numeric_limits<double>::infinity();
    const std::uint32_t k = choice_(r);
    next_k_ = config_.monotone ? std::max(next_k_, k) : k;
    server.evaluate_at(begin_ + static_cast<double>(++looks_) * config_.interval);
  }

  Traits traits() const override { return {.needs_evaluations = true}; }
  std::uint32_t k() const override { return k_; }

  /// E[T] is not known: K depends on the losses.
  Staleness staleness(std::uint32_t learners) const override {
    return cancels_ || learners == 1 ? Staleness{0.0} : Staleness{};
  }

 private:
  const Config config_;
  const Choice choice_;
  const bool cancels_ = config_.cancels(), batch_ = config_.batch();
  std::uint32_t k_ = config_.k0, next_k_ = k_;
  std::uint64_t looks_ = 0;
  double begin_ = 0, first_loss_ = 0;
};

/// Empty after a complaint.
Choice read_numerical_choice(Fields& fields, const Config& config, const Setting& setting) {
  constexpr std::uint32_t most_learners = 4096;
  if (!setting.runtime) {
    fields.complain("rule", "needs one law of the runtimes for all learners", "closed");
    return {};
  }
  if (setting.learners > most_learners) {
    fields.complain("rule", "compares every K, so cluster.learners may be 4096 at most", "closed");
    return {};
  }
  Choice choice = numerical_choice(*setting.runtime, config.k0, setting.learners);
  if (const std::uint32_t first = choice(1); first != config.k0) {
    fields.complain("k0",
                    "the numerical rule goes to K = " + std::to_string(first) +
                        " before the loss has fallen: E[X_{K:P}] of this law is not convex",
                    "another k0, or rule closed");
    return {};
  }
  return choice;
}

MakeProtocol read(Fields& fields, const Setting& setting) {
  Config config;
  fields.choice("variant", config.variant, variants, Need::defaulted, "whose K is changed");
  fields.integer("k0", config.k0, Need::defaulted, between(1, setting.learners, "cluster.learners"),
                 "K at the start");
  fields.real("interval", config.interval, Need::required, positive(),
              "time between two looks at the loss");
  check_loss_interval(fields, "interval", config.interval, setting);
  fields.flag("monotone", config.monotone, Need::defaulted, "K never falls");
  fields.choice("rule", config.rule, rules, Need::defaulted, "which T the rule takes");
  fields.idle("rule", config.rule == "numerical" && config.batch(),
              "says nothing of a batch variant, of which the closed rule holds for every law",
              "variant k-sync or k-async beside it");
  fields.real("least_loss", config.least_loss, Need::defaulted, anything(),
              "F*, near which K is largest; the paper takes it as 0");
  if (!fields.good()) return {};
  Choice choice = closed_choice(config.batch() ? slope_of_batches : slope_of_exponential, config.k0,
                                setting.learners);
  if (config.rule == "numerical" && !config.batch()) {
    choice = read_numerical_choice(fields, config, setting);
  }
  if (!choice) return {};
  return [config, choice] { return std::make_unique<AdaSync>(config, choice); };
}

}  // namespace

extern const ProtocolEntry adasync_entry{page, read};

}  // namespace gradrace
