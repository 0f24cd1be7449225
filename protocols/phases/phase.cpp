#include "protocols/phases/phase.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "protocols/averages/momentum_state.h"
#include "protocols/bases/loss_interval.h"

namespace gradrace {

namespace {

constexpr std::array<std::string_view, 3> fates{"cancel", "drop", "use"};

/// Not above what it stands for, as 0.07 * 100 is above 7: work done is compared with it.
double share_of(double work, double share) {
  return share * work * (1 - 4 * std::numeric_limits<double>::epsilon());
}

Phase::Ends read_ends(Fields& fields, const Setting& setting, bool last) {
  const WorkBudget& budget = setting.budget;
  Phase::Ends ends;
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
  if (interval) check_loss_interval(fields, "interval", *interval, setting);
  if (work && !budget.gradients && !budget.epochs) {
    fields.complain("work", "a fraction of the work needs a limit on the work",
                    "stop.gradients or stop.epochs beside it");
  }
  if (last) fields.complain("", "the last phase lasts to the end of the run");
  if (fields.good() && !work && !time && !updates && !loss && !ends.policy) {
    fields.complain("", "needs at least one end", "work, time, updates, loss, policy");
  }
  if ((fields.has("loss") || fields.has("policy")) != fields.has("interval")) {
    fields.complain("", "loss and policy need interval, and interval needs one of them");
  }
  if (work && budget.gradients)
    ends.gradients = share_of(static_cast<double>(*budget.gradients), *work);
  if (work && budget.epochs) ends.epochs = share_of(*budget.epochs, *work);
  if (time) ends.time = *time;
  if (updates) ends.updates = static_cast<double>(*updates);
  if (loss) ends.loss = *loss;
  if (interval) ends.interval = *interval;
  fields.close();
  return ends;
}

/// Keys of a server are not there by default without one.
Need by_default(const Phase& phase) { return phase.has_server ? Need::defaulted : Need::none; }

void read_costs(Fields& fields, Phase& phase) {
  Phase::Costs& costs = phase.costs;
  fields.real("per_update", costs.per_update, by_default(phase), at_least(0),
              "time that the server is busy after each update of the phase, such as the serial "
              "part of a barrier");
  fields.real("per_gradient", costs.per_gradient, by_default(phase), at_least(0),
              "the same for each gradient in it");
  if (!fields.open("checkpoint", Need::none, "what it saves now and then")) return;
  fields.real("time", costs.checkpoint, Need::required, positive(), "that it takes the server");
  fields.integer("every", costs.every, Need::required, at_least(1), "updates of the phase");
  fields.close();
}

void read_momenta(Fields& fields, Phase& phase) {
  constexpr std::array<std::string_view, 2> velocities{"keep", "reset"};
  fields.reals("momentum", phase.momenta, Need::none, from_below(0, 1),
               "in place of optimiser.momentum; of a list one after another, the last to the end");
  if (fields.good() && fields.has("momentum") && phase.momenta.empty())
    fields.complain("momentum", "must hold at least one number, got none");
  std::optional<std::uint64_t> every;
  fields.integer("momentum_every", every, at_least(1),
                 "gradients of the phase from one momentum of the list to the next");
  if (fields.good() && every.has_value() != (phase.momenta.size() > 1)) {
    fields.complain("momentum_every", "goes with a list of momenta, and a list with it",
                    "momentum: [0.5, 0.9], momentum_every: 1000");
  }
  if (every) phase.momentum_every = *every;
  fields.choice("velocity", phase.velocity, velocities, by_default(phase),
                "reset: the first update of the phase takes it for 0");
}

/// Learners with one value have one state of the optimiser.
void read_momentum_state(Fields& fields, Phase& phase) {
  std::string state = "kept";
  fields.choice("momentum_state", state, momentum_states, Need::none,
                "without a server: what becomes of the optimiser's state at the average with "
                "which the phase begins, if it keeps one (default: kept; averaged where learners "
                "have one value)");
  const bool chosen = fields.has("momentum_state");
  if (!phase.protocol) return;
  if (phase.has_server) {
    if (chosen) fields.complain("momentum_state", "is for protocols without a server", "velocity");
    return;
  }
  const bool one_value = phase.protocol()->traits().one_value;
  if (one_value && chosen && state == "kept") {
    fields.complain("momentum_state",
                    "the protocol has one state of the optimiser for all learners",
                    "averaged, reset");
  }
  phase.momentum_state =
      one_value && !chosen ? MomentumState::averaged : momentum_state_named(state);
}

/// Keys that say nothing without a server.
void refuse_server_keys(Fields& fields) {
  for (const std::string_view key :
       {"velocity", "in_flight", "per_update", "per_gradient", "checkpoint", "stragglers"}) {
    if (!fields.has(key)) continue;
    fields.complain(key, "is for protocols of a server, and this phase has none",
                    key == "velocity" ? "momentum_state" : "");
  }
}

void read_stragglers(Fields& fields, Phase& phase, bool last) {
  read_kind(fields, "stragglers", straggler_policy_catalog(), phase.stragglers, Need::none,
            "what is done about learners that are slow for a while (default: nothing)");
  if (!phase.stragglers || !phase.protocol || !phase.has_server) return;
  const bool flees = phase.stragglers->answer == StragglerPolicy::Answer::flee;
  if (flees && last) {
    fields.complain("stragglers", "greedy goes over to the next phase, and this is the last",
                    "elastic, or a phase after it");
  } else if (!flees && !phase.protocol()->traits().takes_all) {
    fields.complain("stragglers", "elastic needs a protocol that takes a gradient of every learner",
                    protocols_with([](const AnyProtocol& any) { return any->traits().takes_all; }));
  }
}

}  // namespace

bool Phase::ends_with(const Phase& before) const {
  const auto met = [](double end, double earlier) {
    return earlier < Ends::never && end <= earlier;
  };
  return met(ends.gradients, before.ends.gradients) || met(ends.epochs, before.ends.epochs) ||
         met(ends.updates, before.ends.updates) || met(ends.time, before.ends.time);
}

std::vector<Change> Phase::changes() const {
  std::vector<Change> result(std::max<std::size_t>(1, momenta.size()), change);
  for (std::size_t i = 0; i < momenta.size(); ++i) result[i].momentum = momenta[i];
  if (!from_rest()) return result;
  result.insert(result.begin(), result.front());
  result.front().from_rest = true;
  return result;
}

std::size_t Phase::change_after(std::uint64_t updates, std::uint64_t gradients) const {
  if (from_rest() && updates == 0) return 0;
  const std::uint64_t last = momenta.empty() ? 0 : momenta.size() - 1;
  return from_rest() + std::min(gradients / momentum_every, last);
}

static void read_protocol(Fields& fields, const Setting& setting, Phase& phase) {
  read_kind<MakeProtocol, const Setting&>(fields, "protocol", protocol_catalog(), phase.protocol,
                                          Need::required, "what runs in the phase", setting);
  if (!phase.protocol) return;
  const AnyProtocol protocol = phase.protocol();
  phase.has_server = protocol.has_server();
  if (!protocol->changes().empty()) {
    fields.complain("protocol", "phases are not nested", "any other protocol");
  } else if (const std::string_view key = protocol->traits().no_phase; !key.empty()) {
    fields.complain("protocol." + std::string(key), "is not for a phase of switch", "without it");
  } else if (!phase.has_server && !protocol->traits().may_be_phase) {
    fields.complain("protocol", "cannot be a phase", protocols_with([](const AnyProtocol& any) {
                      return any->traits().may_be_phase;
                    }));
  }
}

Phases::Phases(std::vector<Phase> phases) : phases_(std::move(phases)) {
  std::size_t plans = 1;  // the first is the scenario's
  for (const Phase& phase : phases_) {
    first_plan_.push_back(plans);
    plans += phase.changes().size();
  }
}

Traits Phases::traits() const {
  Traits all{.together = phases_.front().protocol()->traits().together,
             .one_value = true,
             .by_layer = true};
  for (const Phase& phase : phases_) {
    const Traits its = phase.protocol()->traits();
    all.needs_evaluations |= its.needs_evaluations || phase.ends.interval < Phase::Ends::never;
    all.needs_epochs |= its.needs_epochs;
    all.pauses |= its.pauses || phase.costs.any();
    all.asks_for_groups |= its.asks_for_groups;
    all.one_value &= its.one_value;
    all.by_layer &= its.by_layer && its.exchange != Traits::Exchange::of_neighbours;
  }
  return all;
}

std::vector<Change> Phases::changes() const {
  std::vector<Change> result;
  for (const Phase& phase : phases_) {
    const auto changes = phase.changes();
    result.insert(result.end(), changes.begin(), changes.end());
  }
  return result;
}

std::uint16_t Phases::plan(std::size_t phase, std::uint64_t updates,
                           std::uint64_t gradients) const {
  const std::size_t change = phases_[phase].change_after(updates, gradients);
  return static_cast<std::uint16_t>(first_plan_[phase] + change);
}

Phase read_phase(Fields& fields, const Setting& scenario, bool last) {
  Phase phase;
  Setting setting = scenario;
  setting.has_state = scenario.has_state || fields.has("momentum");
  read_protocol(fields, setting, phase);
  read_learning_rate(fields, phase.change.learning_rate, Need::none, "in place of the scenario's",
                     setting.budget, phase.has_server);
  read_momenta(fields, phase);
  std::optional<std::uint64_t> minibatch;
  fields.integer("minibatch", minibatch, between(1, 1u << 30), "in place of model.minibatch");
  if (minibatch) phase.change.minibatch = static_cast<std::uint32_t>(*minibatch);
  fields.choice("in_flight", phase.in_flight, fates, by_default(phase),
                "what becomes of minibatches in flight when the phase begins");
  read_momentum_state(fields, phase);
  read_costs(fields, phase);
  read_stragglers(fields, phase, last);
  if (!phase.has_server) refuse_server_keys(fields);
  phase.ends = read_ends(fields, setting, last);
  return phase;
}

}  // namespace gradrace
