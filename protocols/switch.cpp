#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "protocols/catalog.h"
#include "protocols/straggler_policy.h"
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
        "are kept. A phase's updates can keep the server busy besides, for a serial part of "
        "synchronisation (`per_update`, `per_gradient`) and for checkpoints, and so can every "
        "change of the "
        "protocol (`per_switch`): the next models leave when it is done. `stragglers` says what a "
        "phase does about learners that are slow for a while.",
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

/// How long the server is busy with a phase, besides its updates themselves.
struct Costs {
  double per_update = 0, per_gradient = 0;  // of an update
  double checkpoint = 0;                    // after each `every` updates of the phase
  std::uint64_t every = 1;
};

struct Phase {
  MakeProtocol protocol;
  Change change;
  std::vector<double> momenta;       // one after another; empty: the scenario's
  std::uint64_t momentum_every = 1;  // gradients from one to the next
  std::string velocity = "keep", in_flight = "cancel";
  Costs costs;
  StragglerPolicyProduct stragglers;  // null: they are nothing special
  Ends ends;

  bool from_rest() const { return velocity == "reset"; }

  /// What it follows: the changes for each of its momenta, before them that of a first update from
  /// rest.
  std::vector<Change> changes() const {
    std::vector<Change> result(std::max<std::size_t>(1, momenta.size()), change);
    for (std::size_t i = 0; i < momenta.size(); ++i) result[i].momentum = momenta[i];
    if (!from_rest()) return result;
    result.insert(result.begin(), result.front());
    result.front().from_rest = true;
    return result;
  }

  /// Which of its changes is in force so many updates and gradients after it took over.
  std::size_t change_after(std::uint64_t updates, std::uint64_t gradients) const {
    if (from_rest() && updates == 0) return 0;
    const std::uint64_t last = momenta.empty() ? 0 : momenta.size() - 1;
    return from_rest() + std::min(gradients / momentum_every, last);
  }
};

/// What has been done, in the run or in a part of it.
struct Done {
  double gradients = 0, epochs = 0, updates = 0;

  Done operator-(const Done& other) const {
    return {gradients - other.gradients, epochs - other.epochs, updates - other.updates};
  }
  Done operator+(const Done& other) const {
    return {gradients + other.gradients, epochs + other.epochs, updates + other.updates};
  }
};

/// Between a phase's protocol and the server: sees the update that ends the phase, and keeps from
/// the server what the protocol orders after it.
class Switch final : public Protocol, private Server {
 public:
  Switch(std::vector<Phase> phases, double per_switch)
      : phases_(std::move(phases)),
        per_switch_(per_switch),
        protocol_(phases_.front().protocol()),
        updates_of_(phases_.size()) {
    std::size_t plans = 1;
    for (const auto& phase : phases_) {
      first_plan_.push_back(plans);
      plans += phase.changes().size();
    }
  }

  void start(Server& server) override {
    server_ = &server;
    begin(0);
    run(0);
  }

  void on_gradient(Server& server, const Arrival& arrival) override {
    server_ = &server;
    if (detector_) detector_->saw(arrival.learner, arrival.computed);
    if (!left_out_.empty() && left_out_[arrival.learner]) return server.drop(arrival);
    if (arrival.version < first_version_ && phases_[phase_].in_flight == "drop") {
      server.drop(arrival);
      return server.dispatch(arrival.learner);
    }
    protocol_->on_gradient(*this, arrival);
    if (over_) go_on();
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
      own_look_ = began_ + static_cast<double>(++looks_) * ends.interval;
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
    for (const auto& phase : phases_) {
      const auto changes = phase.changes();
      result.insert(result.end(), changes.begin(), changes.end());
    }
    return result;
  }

  bool pauses() const override {
    return per_switch_ > 0 || std::ranges::any_of(phases_, [](const Phase& phase) {
             const Costs& costs = phase.costs;
             return costs.per_update > 0 || costs.per_gradient > 0 || costs.checkpoint > 0 ||
                    phase.protocol()->pauses();
           });
  }

  std::uint32_t k() const override { return left_out_.empty() ? protocol_->k() : taking_part_; }

  /// Not known: the phases differ.
  Theory theory(const Distribution&, std::uint32_t) const override { return {}; }

 private:
  /// From now on its ends count.
  void begin(std::size_t phase) {
    home_ = phase;
    judged_over_ = false;
    elsewhere_ = {};
    const Phase& next = phases_[phase];
    policy_ = next.ends.policy ? next.ends.policy() : nullptr;
    detector_.reset();
    if (next.stragglers) detector_.emplace(next.stragglers->detector, server_->learners());
  }

  /// Its protocol is in force.
  void run(std::size_t phase) {
    phase_ = phase;
    const Phase& next = phases_[phase];
    over_ = false;
    first_version_ = server_->version();
    done_before_ = done();
    left_out_.assign(answers(StragglerPolicy::Answer::leave_out) ? server_->learners() : 0, false);
    taking_part_ = server_->learners();
    follow_change();
    protocol_ = next.protocol();
    protocol_look_ = never;
    began_ = server_->time();
    looks_ = 1;
    own_look_ = is_away() ? never : began_ + next.ends.interval;
    protocol_->start(*this);
    look();
  }

  void go_on() {
    if (is_away()) {
      elsewhere_ = elsewhere_ + (done() - done_before_);
      return give_way_to(home_);
    }
    if (end_is_met()) begin(home_ + 1);
    give_way_to(phase_ + 1);
  }

  void give_way_to(std::size_t phase) {
    if (phases_[phase].in_flight == "cancel") server_->cancel_all();
    keep_busy(per_switch_);
    run(phase);
  }

  /// Whether the next phase's protocol is in the place of the own.
  bool is_away() const { return phase_ != home_; }

  bool answers(StragglerPolicy::Answer answer) const {
    const auto& policy = phases_[phase_].stragglers;
    return !is_away() && policy && policy->answer == answer;
  }

  bool is_over() const {
    if (is_away()) return !detector_->any();
    return end_is_met() || (answers(StragglerPolicy::Answer::flee) && detector_->any());
  }

  bool end_is_met() const {
    if (home_ + 1 == phases_.size()) return false;
    const Ends& ends = phases_[home_].ends;
    const Done here = done() - elsewhere_;
    return judged_over_ || here.gradients >= ends.gradients || here.epochs >= ends.epochs ||
           here.updates >= ends.updates || server_->time() >= ends.time;
  }

  Done done() const {
    const Work& work = server_->work();
    return {static_cast<double>(work.gradients), work.epochs,
            static_cast<double>(server_->version())};
  }

  void follow_change() {
    const auto gradients =
        server_->work().gradients - static_cast<std::uint64_t>(done_before_.gradients);
    const std::size_t change =
        phases_[phase_].change_after(server_->version() - first_version_, gradients);
    server_->follow(static_cast<std::uint16_t>(first_plan_[phase_] + change));
  }

  void keep_busy(double length) {
    if (length > 0) server_->pause(length);
  }

  void pay_for_update(std::uint32_t gradients) {
    const Costs& costs = phases_[phase_].costs;
    const bool saves = ++updates_of_[phase_] % costs.every == 0;
    keep_busy(costs.per_update + gradients * costs.per_gradient + (saves ? costs.checkpoint : 0));
  }

  /// All who take part are idle: stragglers leave, but not the last, and who is none any more comes
  /// back. That is found when its gradient arrives, so it is idle too.
  void choose_who_takes_part() {
    for (std::uint32_t learner = 0; learner < left_out_.size(); ++learner) {
      const bool before = left_out_[learner];
      const bool now = detector_->is_straggler(learner) && (before || taking_part_ > 1);
      if (before && !now) ++taking_part_;
      if (now && !before) --taking_part_;
      left_out_[learner] = now;
    }
  }

  void look() {
    const double next = std::min(protocol_look_, own_look_);
    if (next < never) server_->evaluate_at(next);
  }

  // What the phase's protocol is handed.
  std::uint32_t learners() const override { return taking_part_; }
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
    const std::uint32_t gradients = server_->accepted();
    server_->update();
    pay_for_update(gradients);
    choose_who_takes_part();
    follow_change();
    over_ = is_over();
  }
  void pause(double length) override {
    if (!over_) server_->pause(length);
  }
  void evaluate_at(double time) override {
    protocol_look_ = time;
    look();
  }

  const std::vector<Phase> phases_;
  const double per_switch_;
  std::vector<std::size_t> first_plan_;  // [phase]
  Server* server_ = nullptr;             // of this call
  std::unique_ptr<Protocol> protocol_;

  std::size_t home_ = 0;  // the phase whose ends count
  std::unique_ptr<SwitchPolicy> policy_;
  std::optional<StragglerDetector> detector_;
  bool judged_over_ = false;  // by its policy
  Done elsewhere_;            // since its begin, by the next phase in its place

  std::size_t phase_ = 0;  // that runs
  double began_ = 0;
  std::uint64_t looks_ = 0;
  std::uint32_t first_version_ = 0;
  Done done_before_;
  bool over_ = false;                                // by its last update
  double protocol_look_ = never, own_look_ = never;  // next evaluation wanted
  std::vector<bool> left_out_;                       // [learner]; empty: all take part
  std::uint32_t taking_part_ = 0;
  std::vector<std::uint64_t> updates_of_;  // [phase]
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

Costs read_costs(Fields& fields) {
  Costs costs;
  fields.real("per_update", costs.per_update, Need::defaulted, at_least(0),
              "time that the server is busy after each update of the phase, such as the serial "
              "part of a barrier");
  fields.real("per_gradient", costs.per_gradient, Need::defaulted, at_least(0),
              "the same for each gradient in it");
  if (!fields.open("checkpoint", Need::none, "what it saves now and then")) return costs;
  fields.real("time", costs.checkpoint, Need::required, positive(), "that it takes the server");
  fields.integer("every", costs.every, Need::required, at_least(1), "updates of the phase");
  fields.close();
  return costs;
}

void read_momenta(Fields& fields, Phase& phase) {
  constexpr std::array<std::string_view, 2> velocities{"keep", "reset"};
  fields.reals("momentum", phase.momenta, Need::none, from_below(0, 1),
               "in place of optimiser.momentum; of a list one after another, the last to the end");
  std::optional<std::uint64_t> every;
  fields.integer("momentum_every", every, at_least(1),
                 "gradients of the phase from one momentum of the list to the next");
  if (fields.good() && every.has_value() != (phase.momenta.size() > 1)) {
    fields.complain("momentum_every", "goes with a list of momenta, and a list with it",
                    "momentum: [0.5, 0.9], momentum_every: 1000");
  }
  if (every) phase.momentum_every = *every;
  fields.choice("velocity", phase.velocity, velocities, Need::defaulted,
                "reset: the first update of the phase takes it for 0");
}

void read_stragglers(Fields& fields, Phase& phase, bool last) {
  read_kind(fields, "stragglers", straggler_policy_catalog(), phase.stragglers, Need::none,
            "what is done about learners that are slow for a while (default: nothing)");
  if (!phase.stragglers || !phase.protocol) return;
  const bool flees = phase.stragglers->answer == StragglerPolicy::Answer::flee;
  if (flees && last) {
    fields.complain("stragglers", "greedy goes over to the next phase, and this is the last",
                    "elastic, or a phase after it");
  } else if (!flees && !phase.protocol()->takes_all()) {
    fields.complain("stragglers", "elastic needs a protocol that takes a gradient of every learner",
                    "sync, hardsync");
  }
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
  read_momenta(fields, phase);
  std::optional<std::uint64_t> minibatch;
  fields.integer("minibatch", minibatch, between(1, 1u << 30), "in place of model.minibatch");
  if (minibatch) phase.change.minibatch = static_cast<std::uint32_t>(*minibatch);
  fields.choice("in_flight", phase.in_flight, fates, Need::defaulted,
                "what becomes of minibatches in flight when the phase begins");
  phase.costs = read_costs(fields);
  read_stragglers(fields, phase, last);
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
  double per_switch = 0;
  fields.real("per_switch", per_switch, Need::defaulted, at_least(0),
              "time that the server is busy when one phase gives way to another");
  if (!fields.good()) return {};
  return [phases, per_switch] { return std::make_unique<Switch>(phases, per_switch); };
}

}  // namespace

extern const ProtocolEntry switch_entry{page, read};

}  // namespace gradrace
