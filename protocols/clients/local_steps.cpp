#include "protocols/clients/local_steps.h"

#include <utility>
#include <variant>

namespace gradrace {

namespace {

/// Decides as its protocol does, to which a gradient is a gradient.
class OfLocalSteps final : public ServerProtocol {
 public:
  OfLocalSteps(std::unique_ptr<ServerProtocol> protocol, std::uint32_t tau)
      : protocol_(std::move(protocol)), tau_(tau) {}

  void start(Server& server) override { protocol_->start(server); }
  void on_gradient(Server& server, const GradientFacts& arrival) override {
    protocol_->on_gradient(server, arrival);
  }
  void on_loss(Server& server, std::uint32_t learner) override {
    protocol_->on_loss(server, learner);
  }
  void on_return(Server& server, std::uint32_t learner) override {
    protocol_->on_return(server, learner);
  }
  void on_timer(Server& server) override { protocol_->on_timer(server); }
  void on_evaluation(Server& server, const Evaluation& evaluation) override {
    protocol_->on_evaluation(server, evaluation);
  }

  Traits traits() const override {
    Traits traits = protocol_->traits();
    traits.local_steps = tau_;
    traits.no_phase = "tau";
    traits.by_shard = false;
    return traits;
  }
  std::uint32_t k() const override { return protocol_->k(); }
  std::uint32_t gradients_of_step() const override { return protocol_->gradients_of_step(); }

  std::optional<Estimate> iteration_time(const Conditions& conditions) const override {
    return protocol_->iteration_time(conditions);
  }
  Staleness staleness(std::uint32_t learners) const override {
    return protocol_->staleness(learners);
  }

 private:
  const std::unique_ptr<ServerProtocol> protocol_;
  const std::uint32_t tau_;
};

}  // namespace

void LocalSteps::visit(Fields& fields) {
  fields.integer(
      "tau", tau, between(1, 1e6),
      "steps that a learner makes from the version it has read, w - eta g of its own, "
      "before it sends the sum of their gradients g, to the optimiser one gradient; 1 if "
      "absent");
}

MakeProtocol LocalSteps::before(MakeProtocol make) const {
  if (tau.value_or(1) == 1) return make;
  return [make = std::move(make), steps = static_cast<std::uint32_t>(*tau)] {
    return std::make_unique<OfLocalSteps>(std::get<std::unique_ptr<ServerProtocol>>(make()), steps);
  };
}

}  // namespace gradrace
