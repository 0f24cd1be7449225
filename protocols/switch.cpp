#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "protocols/phases/peer_switch.h"
#include "protocols/phases/phase_watch.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "switch",
    .definition =
        "One protocol after another: a list of phases, each with a protocol and, where it is to "
        "differ from the scenario's, a learning rate, a momentum and a minibatch.\n\nA phase ends "
        "with the first update at which one of its ends is met: `work` (a fraction of "
        "stop.gradients or stop.epochs), `time`, `updates`, all counted from the start of the "
        "run, or `loss`, or what a policy finds in the losses, looked at every `interval` of "
        "time, which costs none.\n\nThe protocols all have a server, or none of them has.\n\nWith "
        "a server, minibatches in flight at a switch are cancelled, or dropped as "
        "they arrive (their learners then begin anew), or used as the new protocol uses what "
        "arrives (their learners go on at once): as `in_flight` of the phase that begins says.  "
        "Velocities are kept, if "
        "`velocity` does not reset them.  A phase's updates can keep the server busy besides, for "
        "a serial part of synchronisation (`per_update`, `per_gradient`) and for checkpoints, and "
        "so can every change of the protocol (`per_switch`): the next models leave when it is "
        "done.  `stragglers` says what a phase does about learners that are slow for a "
        "while.\n\nWithout one, phases are of all-reduce, local-sgd, d-psgd and ripples.  At a "
        "switch all learners finish the minibatches that they compute, and exchanges under way "
        "end; nothing else begins, and a gradient that is then not used yet is its learner's last "
        "step.  Then a collective of all averages their values, the optimiser's states as "
        "`momentum_state` of the phase that begins says, and that phase begins.",
    .source =
        "Li, Mangoubi, Xu, Guo, ICDCS 2021 (Sync-Switch); without a server: Lin, Stich, Patel, "
        "Jaggi, ICLR 2020 (post-local SGD)",
    .example = R"({"kind": "switch", "phases": [
  {"protocol": {"kind": "sync"}, "end": {"updates": 20}},
  {"protocol": {"kind": "async"}, "in_flight": "cancel"}]})"};

constexpr double never = Phase::Ends::never;
constexpr std::size_t most_changes = 65'535;  // that Server::follow() can name

/// Between a phase's protocol and the server: sees the update that ends the phase, and keeps from
/// the server what the protocol orders after it.
class Switch final : public ServerProtocol, private Server {
 public:
  Switch(const Phases& phases, double per_switch)
      : phases_(phases),
        per_switch_(per_switch),
        protocol_(phases_[0].server_protocol()),
        made_(phases_.list().size()) {}

  void start(Server& server) override {
    server_ = &server;
    begin(0);
    run(0);
  }

  void on_gradient(Server& server, const GradientFacts& arrival) override {
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

  void on_timer(Server& server) override {
    server_ = &server;
    protocol_->on_timer(*this);
    if (over_) go_on();
  }

  void on_evaluation(Server& server, const Evaluation& evaluation) override {
    server_ = &server;
    const double now = server.time();
    if (watch_.answers(now)) protocol_->on_evaluation(*this, evaluation);
    watch_.look(evaluation, now);
    look();
  }

  Traits traits() const override {
    Traits traits = phases_.traits();
    traits.pauses |= per_switch_ > 0;
    return traits;
  }
  std::vector<Change> changes() const override { return phases_.changes(); }

  std::uint32_t k() const override { return left_out_.empty() ? protocol_->k() : taking_part_; }

 private:
  /// From now on its ends count, and its momenta and checkpoints.
  void begin(std::size_t phase) {
    home_ = phase;
    made_[phase] = {};
    elsewhere_ = {};
    const Phase& next = phases_[phase];
    watch_.begin(next);
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
    all_take_part();
    follow_change();
    protocol_ = next.server_protocol();
    server_->timer(never);
    watch_.begin_looks(server_->time(), !is_away());
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

  /// The phase in whose place this one runs is over: this one's ends count from now on.
  void stay() {
    begin(phase_);
    watch_.begin_own_looks(server_->time());
    all_take_part();
    look();
  }

  bool is_over() const {
    if (is_away()) return !detector_->any();
    return end_is_met() || (answers(StragglerPolicy::Answer::flee) && detector_->any());
  }

  bool end_is_met() const { return watch_.over(done() - elsewhere_, server_->time()); }

  Done done() const {
    const Work& work = server_->work();
    return {static_cast<double>(work.gradients), work.epochs,
            static_cast<double>(server_->version())};
  }

  void follow_change() {
    server_->follow(phases_.plan(phase_, made_[phase_].updates, made_[phase_].gradients));
  }

  void keep_busy(double length) {
    if (length > 0) server_->pause(length);
  }

  void pay_for_update(std::uint32_t gradients) {
    const Phase::Costs& costs = phases_[phase_].costs;
    const bool saves = made_[phase_].updates % costs.every == 0;
    keep_busy(costs.per_update + gradients * costs.per_gradient + (saves ? costs.checkpoint : 0));
  }

  void all_take_part() {
    left_out_.assign(answers(StragglerPolicy::Answer::leave_out) ? server_->learners() : 0, false);
    taking_part_ = server_->learners();
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
    if (watch_.next_look() < never) server_->evaluate_at(watch_.next_look());
  }

  // What the phase's protocol is handed.
  std::uint32_t learners() const override { return taking_part_; }
  std::uint32_t version() const override { return server_->version(); }
  std::uint32_t accepted() const override { return server_->accepted(); }
  double time() const override { return server_->time(); }
  const Work& work() const override { return server_->work(); }
  void accept(const GradientFacts& arrival) override { server_->accept(arrival); }
  void drop(const GradientFacts& arrival) override { server_->drop(arrival); }
  void follow(std::uint16_t) override {}
  void dispatch(std::uint32_t learner) override {
    if (!over_) server_->dispatch(learner);
  }
  void dispatch_waiting() override {
    if (!over_) server_->dispatch_waiting();
  }
  const GradientFacts* computing(std::uint32_t learner) const override {
    return server_->computing(learner);
  }
  void cancel(const GradientFacts& gradient) override {
    if (!over_) server_->cancel(gradient);
  }
  void cancel_all() override {
    if (!over_) server_->cancel_all();
  }
  void update() override {
    const std::uint32_t gradients = server_->accepted();
    server_->update();
    ++made_[phase_].updates;
    made_[phase_].gradients += gradients;
    pay_for_update(gradients);
    if (is_away() && watch_.time_is_up(server_->time())) stay();
    choose_who_takes_part();
    follow_change();
    over_ = is_over();
  }
  void pause(double length) override {
    if (!over_) server_->pause(length);
  }
  void timer(double time) override {
    if (!over_) server_->timer(time);
  }
  void evaluate_at(double time) override {
    watch_.ask(time);
    look();
  }

  const Phases phases_;
  const double per_switch_;
  Server* server_ = nullptr;  // of this call
  std::unique_ptr<ServerProtocol> protocol_;

  std::size_t home_ = 0;  // the phase whose ends count
  PhaseWatch watch_;
  std::optional<StragglerDetector> detector_;
  Done elsewhere_;  // since its begin, by the next phase in its place

  std::size_t phase_ = 0;  // that runs
  std::uint32_t first_version_ = 0;
  Done done_before_;
  bool over_ = false;           // by its last update
  std::vector<bool> left_out_;  // [learner]; empty: all take part
  std::uint32_t taking_part_ = 0;

  struct Made {
    std::uint64_t updates = 0, gradients = 0;
  };
  std::vector<Made> made_;  // [phase], since its begin; before that in the place of others
};

/// What a phase may not be beside those before it.
void check_order(Fields& fields, const std::vector<Phase>& phases) {
  const Phase& phase = phases.back();
  if (phases.size() == 1) {
    const bool is_left_for_a_while =
        phase.stragglers && phase.stragglers->answer == StragglerPolicy::Answer::flee;
    fields.idle("in_flight", phase.in_flight != "cancel" && !is_left_for_a_while,
                "says nothing in the first phase, before which nothing is computed",
                "in_flight of a later phase");
    fields.idle("velocity", phase.from_rest(),
                "says nothing in the first phase, before which the velocity is 0",
                "velocity of a later phase");
    if (!phase.has_server && fields.has("momentum_state"))
      fields.complain("momentum_state",
                      "says nothing in the first phase, which begins with no average");
    return;
  }
  if (phase.protocol && phases[0].protocol && phase.has_server != phases[0].has_server) {
    fields.complain("protocol", phase.has_server
                                    ? "has a server, and that of the first phase has none"
                                    : "has no server, and that of the first phase has one");
  }
  if (fields.good() && phase.ends_with(phases[phases.size() - 2])) {
    fields.complain("end",
                    "is met as soon as that of the phase before: ends count from the start "
                    "of the run",
                    "a later one");
  }
}

/// Of phases after the first.
void examine_velocities(Fields& fields, const std::vector<Phase>& phases, bool has_state) {
  const bool has_momentum = has_state || std::ranges::any_of(phases, [](const Phase& phase) {
                              return !phase.momenta.empty();
                            });
  for (std::size_t i = 1; i < phases.size(); ++i)
    fields.idle("phases." + std::to_string(i) + ".velocity", phases[i].from_rest() && !has_momentum,
                "says nothing, as no phase has momentum", "optimiser.momentum beside it");
}

MakeProtocol read(Fields& fields, const Setting& setting) {
  std::vector<Phase> phases;
  const std::size_t count = fields.open_list("phases", Need::required, "one after another");
  for (std::size_t i = 0; i < count; ++i) {
    fields.open_item(i);
    phases.push_back(read_phase(fields, setting, i + 1 == count));
    check_order(fields, phases);
    fields.close();
  }
  if (count > 0) fields.close();
  examine_velocities(fields, phases, setting.has_state);
  if (fields.good() && count == 0) fields.complain("phases", "needs at least one phase");
  std::size_t changes = 0;
  for (const auto& phase : phases) changes += phase.changes().size();
  if (changes > most_changes) {
    fields.complain("phases", "have " + std::to_string(changes) + " momenta together",
                    "at most " + std::to_string(most_changes));
  }
  const bool has_server = phases.empty() || phases.front().has_server;
  double per_switch = 0;
  fields.real("per_switch", per_switch, has_server ? Need::defaulted : Need::none, at_least(0),
              "time that the server is busy when one phase gives way to another");
  if (!has_server && fields.has("per_switch"))
    fields.complain("per_switch",
                    "is for protocols of a server: without one, an average of all "
                    "takes the time that the network says");
  if (!fields.good()) return {};
  if (!has_server) return make_peer_switch(Phases(phases));
  return [phases = Phases(phases), per_switch] {
    return std::make_unique<Switch>(phases, per_switch);
  };
}

}  // namespace

extern const ProtocolEntry switch_entry{page, read};

}  // namespace gradrace
