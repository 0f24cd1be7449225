#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "protocols/catalog.h"
#include "protocols/switch_policy.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "switch",
    .definition =
        "One protocol after another: a list of phases, each with a protocol and, where it is to "
        "differ from the scenario's, a learning rate, a momentum and a minibatch. A phase ends "
        "with the first update at which one of its ends is met: `work` (a fraction of "
        "stop.gradients or stop.epochs), `time`, `updates`, all counted from the start of the run, "
        "or `loss`, or what a policy finds in the losses, looked at every `interval` of time, "
        "which "
        "costs none. Minibatches in flight at a switch are "
        "cancelled, or dropped as they arrive (their learners then begin anew), or used as the "
        "new protocol uses what arrives: as `in_flight` of the phase that begins says. Velocities "
        "are kept.",
    .source = "Li, Mangoubi, Xu, Guo, ICDCS 2021 (Sync-Switch)",
    .example = R"({"kind": "switch", "phases": [
  {"protocol": {"kind": "sync"}, "end": {"updates": 20}},
  {"protocol": {"kind": "async"}, "in_flight": "cancel"}]})"};

constexpr double never = std::numeric_limits<double>::infinity();
constexpr std::array<std::string_view, 3> fates{"cancel", "drop", "use"};

/// When a phase is over.
struct Ends {
  double gradients = never, epochs = never, updates = never, time = never;
  double loss = -never;
  MakeSwitchPolicy policy;  // empty: none
  double interval = never;  // between two looks at the loss
};

struct Phase {
  MakeProtocol protocol;
  Change change;
  std::string in_flight = "cancel";
  Ends ends;
};

/// Between a phase's protocol and the server: sees the update that ends the phase, and keeps from
/// the server what the protocol orders after it.
class Switch final : public Protocol, private Server {
 public:
  explicit Switch(std::vector<Phase> phases)
      : phases_(std::move(phases)), protocol_(phases_.front().protocol()) {}

  void start(Server& server) override {
    server_ = &server;
    enter(0);
  }

  void on_gradient(Server& server, const Arrival& arrival) override {
    server_ = &server;
    if (arrival.version < first_version_ && phases_[phase_].in_flight == "drop") {
      server.drop(arrival);
      return server.dispatch(arrival.learner);
    }
    protocol_->on_gradient(*this, arrival);
    if (over_) enter(phase_ + 1);
  }

  void on_evaluation(Server& server, const Evaluation& evaluation) override {
    server_ = &server;
    const double now = server.time();
    if (std::exchange(protocol_look_, now < protocol_look_ ? protocol_look_ : never) <= now) {
      protocol_->on_evaluation(*this, evaluation);
    }
    if (own_look_ <= now) {
      const Ends& ends = phases_[phase_].ends;
      judged_over_ =
          judged_over_ || evaluation.loss <= ends.loss || (policy_ && policy_->over(evaluation));
      own_look_ = begin_ + static_cast<double>(++looks_) * ends.interval;
    }
    look();
  }

  bool needs_evaluations() const override {
    return std::ranges::any_of(phases_, [](const Phase& phase) {
      return phase.ends.interval < never || phase.protocol()->needs_evaluations();
    });
  }

  std::vector<Change> changes() const override {
    std::vector<Change> result;
    for (const auto& phase : phases_) result.push_back(phase.change);
    return result;
  }

  std::uint32_t k() const override { return protocol_->k(); }

  /// Not known: the phases differ.
  Theory theory(const Distribution&, std::uint32_t) const override { return {}; }

 private:
  void enter(std::size_t phase) {
    phase_ = phase;
    const Phase& next = phases_[phase];
    over_ = judged_over_ = false;
    first_version_ = server_->version();
    if (phase > 0 && next.in_flight == "cancel") server_->cancel_all();
    server_->follow(static_cast<std::uint16_t>(phase + 1));
    protocol_ = next.protocol();
    protocol_look_ = never;
    policy_ = next.ends.policy ? next.ends.policy() : nullptr;
    begin_ = server_->time();
    looks_ = 1;
    own_look_ = begin_ + next.ends.interval;
    protocol_->start(*this);
    look();
  }

  bool end_is_met() const {
    if (phase_ + 1 == phases_.size()) return false;
    const Ends& ends = phases_[phase_].ends;
    const Work& done = server_->work();
    return judged_over_ || static_cast<double>(done.gradients) >= ends.gradients ||
           done.epochs >= ends.epochs || server_->version() >= ends.updates ||
           server_->time() >= ends.time;
  }

  void look() {
    const double next = std::min(protocol_look_, own_look_);
    if (next < never) server_->evaluate_at(next);
  }

  // What the phase's protocol is handed.
  std::uint32_t learners() const override { return server_->learners(); }
  std::uint32_t version() const override { return server_->version(); }
  std::uint32_t accepted() const override { return server_->accepted(); }
  double time() const override { return server_->time(); }
  const Work& work() const override { return server_->work(); }
  void accept(const Arrival& arrival) override { server_->accept(arrival); }
  void drop(const Arrival& arrival) override { server_->drop(arrival); }
  void follow(std::uint16_t) override {}
  void dispatch(std::uint32_t learner) override {
    if (!over_) server_->dispatch(learner);
  }
  void dispatch_waiting() override {
    if (!over_) server_->dispatch_waiting();
  }
  void cancel_all() override {
    if (!over_) server_->cancel_all();
  }
  void update() override {
    server_->update();
    over_ = end_is_met();
  }
  void evaluate_at(double time) override {
    protocol_look_ = time;
    look();
  }

  const std::vector<Phase> phases_;
  Server* server_ = nullptr;  // of this call
  std::unique_ptr<Protocol> protocol_;
  std::unique_ptr<SwitchPolicy> policy_;
  std::size_t phase_ = 0;
  double begin_ = 0;  // of the phase
  std::uint64_t looks_ = 0;
  std::uint32_t first_version_ = 0;                  // of the phase
  bool over_ = false, judged_over_ = false;          // by its last update; by its policy
  double protocol_look_ = never, own_look_ = never;  // next evaluation wanted
};

Ends read_ends(Fields& fields, const WorkBudget& budget, bool last) {
  Ends ends;
  std::optional<double> work, time, loss, interval;
  std::optional<std::uint64_t> updates;
  if (!fields.open("end", last ? Need::none : Need::required, "when the phase is over"))
    return ends;
  fields.real("work", work, between(0, 1), "fraction of stop.gradients or stop.epochs done");
  fields.real("time", time, positive(), "simulated time");
  fields.integer("updates", updates, at_least(1), "updates made");
  fields.real("loss", loss, anything(), "loss at a look, or less");
  read_kind(fields, "policy", switch_policy_catalog(), ends.policy, Need::none,
            "what finds the end in the losses");
  fields.real("interval", interval, positive(), "time between two looks at the loss");
  if (work && !budget.gradients && !budget.epochs) {
    fields.complain("work", "a fraction of the work needs a limit on the work",
                    "stop.gradients or stop.epochs beside it");
  }
  if (last) fields.complain("", "the last phase lasts to the end of the run");
  if (fields.good() && !work && !time && !updates && !loss && !ends.policy) {
    fields.complain("", "needs at least one end", "work, time, updates, loss, policy");
  }
  if (fields.good() && (loss || ends.policy) != interval.has_value()) {
    fields.complain("", "loss and policy need interval, and interval needs one of them");
  }
  if (work && budget.gradients) ends.gradients = *work * static_cast<double>(*budget.gradients);
  if (work && budget.epochs) ends.epochs = *work * *budget.epochs;
  if (time) ends.time = *time;
  if (updates) ends.updates = static_cast<double>(*updates);
  if (loss) ends.loss = *loss;
  if (interval) ends.interval = *interval;
  fields.close();
  return ends;
}

Phase read_phase(Fields& fields, const Setting& setting, bool last) {
  Phase phase;
  read_kind<MakeProtocol, const Setting&>(fields, "protocol", protocol_catalog(), phase.protocol,
                                          Need::required, "what runs in the phase", setting);
  if (phase.protocol && !phase.protocol()->changes().empty()) {
    fields.complain("protocol", "phases are not nested", "any other protocol");
  }
  read_kind<LearningRateProduct, const WorkBudget&>(
      fields, "learning_rate", learning_rate_catalog(), phase.change.learning_rate, Need::none,
      "in place of the scenario's", setting.budget);
  fields.real("momentum", phase.change.momentum, from_below(0, 1),
              "in place of optimiser.momentum");
  std::optional<std::uint64_t> minibatch;
  fields.integer("minibatch", minibatch, between(1, 1u << 30), "in place of model.minibatch");
  if (minibatch) phase.change.minibatch = static_cast<std::uint32_t>(*minibatch);
  fields.choice("in_flight", phase.in_flight, fates, Need::defaulted,
                "what becomes of minibatches in flight when the phase begins");
  phase.ends = read_ends(fields, setting.budget, last);
  return phase;
}

MakeProtocol read(Fields& fields, const Setting& setting) {
  std::vector<Phase> phases;
  const std::size_t count = fields.open_list("phases", Need::required, "one after another");
  for (std::size_t i = 0; i < count; ++i) {
    fields.open_item(i);
    phases.push_back(read_phase(fields, setting, i + 1 == count));
    fields.close();
  }
  if (count > 0) fields.close();
  if (fields.good() && count == 0) fields.complain("phases", "needs at least one phase");
  if (!fields.good()) return {};
  return [phases] { return std::make_unique<Switch>(phases); };
}

}  // namespace

extern const ProtocolEntry switch_entry{page, read};

}  // namespace gradrace
