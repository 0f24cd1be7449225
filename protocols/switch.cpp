#include <algorithm>
#include <memory>

#include "protocols/phases/peer_switch.h"
#include "protocols/phases/phase_server.h"

namespace gradrace {

namespace {

constexpr Page page{
    .name = "switch",
    .definition = R"(One protocol after another: a list of phases, each with a protocol and, where
it is to differ from the scenario's, a learning rate, a momentum and a minibatch.

A phase ends with the first update at which one of its ends is met: `work` (a fraction of
stop.gradients or stop.epochs), `time`, `updates`, all counted from the start of the run, or `loss`,
or what a policy finds in the losses, looked at every `interval` of time, which costs none.

The protocols all have a server, or none of them has.

With a server, minibatches in flight at a switch are cancelled, or dropped as they arrive (their
learners then begin anew), or used as the new protocol uses what arrives (their learners go on at
once): as `in_flight` of the phase that begins says.  Velocities are kept, if `velocity` does not
reset them.  `stragglers` says what a phase does about learners that are slow for a while.

A phase's updates can keep the server busy besides, for a serial part of synchronisation
(`per_update`, `per_gradient`) and for checkpoints, and so can every change of the protocol
(`per_switch`): the next models leave when it is done.

Without one, phases are of protocols that can begin whenever all learners are idle and agree, such
as all-reduce and local-sgd.  At a switch all learners finish the minibatches that they compute, and
exchanges under way end; nothing else begins.  A gradient that no exchange has used by then
becomes a step of its learner alone.  Then a collective of all averages their values, the optimiser's states as
`momentum_state` of the phase that begins says, and that phase begins.)",
    .source =
        "Li, Mangoubi, Xu, Guo, ICDCS 2021 (Sync-Switch); without a server: Lin, Stich, Patel, "
        "Jaggi, ICLR 2020 (post-local SGD)",
    .example = R"({"kind": "switch", "phases": [
  {"protocol": {"kind": "sync"}, "end": {"updates": 20}},
  {"protocol": {"kind": "async"}, "in_flight": "cancel"}]})"};

constexpr std::size_t most_changes = 65'535;  // that Server::follow() can name

class Switch final : public ServerProtocol {
 public:
  Switch(const Phases& phases, double per_switch)
      : phases_(phases),
        per_switch_(per_switch),
        protocol_(phases_[0].server_protocol()),
        clock_(phases_),
        seen_(clock_, learners_, [this](std::uint32_t n) { return updated(n); }) {}

  void start(Server& server) override {
    seen_.stand_before(server);
    begin(0);
    run(0);
  }

  void on_gradient(Server& server, const GradientFacts& arrival) override {
    seen_.stand_before(server);
    learners_.saw(arrival);
    if (learners_.leaves_out(arrival.learner)) return server.drop(arrival);
    if (arrival.version < clock_.before().updates &&
        phases_[clock_.running()].in_flight == "drop") {
      server.drop(arrival);
      return server.dispatch(arrival.learner);
    }
    protocol_->on_gradient(seen_, arrival);
    if (seen_.is_over()) go_on();
  }

  void on_timer(Server& server) override {
    seen_.stand_before(server);
    protocol_->on_timer(seen_);
    if (seen_.is_over()) go_on();
  }

  void on_evaluation(Server& server, const Evaluation& evaluation) override {
    seen_.stand_before(server);
    if (clock_.answers(server.time())) protocol_->on_evaluation(seen_, evaluation);
    clock_.look(evaluation, server.time());
    seen_.look();
  }

  Traits traits() const override {
    Traits traits = phases_.traits();
    traits.pauses |= per_switch_ > 0;
    return traits;
  }
  std::vector<Change> changes() const override { return phases_.changes(); }
  std::uint32_t k() const override {
    return learners_.may_leave_out() ? learners_.count() : protocol_->k();
  }

 private:
  /// It is that phase's turn.
  void begin(std::size_t phase) {
    clock_.begin(phase, seen_.done());
    learners_.begin(phases_[phase].stragglers, seen_.server().learners());
  }

  /// Its protocol is in force.
  void run(std::size_t phase) {
    clock_.run(phase, seen_.done(), seen_.time());
    seen_.server().follow(clock_.plan(seen_.done()));
    protocol_ = phases_[phase].server_protocol();
    seen_.server().timer(PhaseClock::never);
    seen_.open();
    protocol_->start(seen_);
    seen_.look();
  }

  /// Another protocol than the one that runs.
  void go_on() {
    std::size_t next = clock_.turn();
    if (clock_.is_away()) {
      clock_.come_back(seen_.done());
    } else if (++next; clock_.is_over(seen_.done(), seen_.time())) {
      begin(next);
    }
    if (phases_[next].in_flight == "cancel") seen_.server().cancel_all();
    keep_busy(per_switch_);
    run(next);
  }

  /// After an update of so many gradients: whether the protocol that made it gives way.
  bool updated(std::uint32_t gradients) {
    const Done done = seen_.done();
    const double now = seen_.time();
    const Phase& phase = phases_[clock_.running()];
    keep_busy(phase.costs.of_update(clock_.made(done).updates, gradients));
    if (clock_.is_away() && clock_.time_is_up(now)) {
      clock_.stay(done, now);
      learners_.begin(phase.stragglers, seen_.server().learners());
      seen_.look();
    }
    learners_.choose();
    seen_.server().follow(clock_.plan(done));
    if (clock_.is_away()) return !learners_.any_straggler();
    return clock_.is_over(done, now) || learners_.flees();
  }

  void keep_busy(double length) {
    if (length > 0) seen_.server().pause(length);
  }

  const Phases phases_;
  const double per_switch_;
  std::unique_ptr<ServerProtocol> protocol_;  // that runs
  PhaseClock clock_;
  TakingPart learners_;
  PhaseServer seen_;  // by the protocol
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
