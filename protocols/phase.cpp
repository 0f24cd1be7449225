#include "protocols/phase.h"

#include <algorithm>
#include <array>
#include <limits>

namespace gradrace {

namespace {

constexpr std::array<std::string_view, 3> fates{"cancel", "drop", "use"};

/// Not above what it stands for, as 0.07 * 100 is above 7: work done is compared with it.
double share_of(double work, double share) {
  return share * work * (1 - 4 * std::numeric_limits<double>::epsilon());
}

Phase::Ends read_ends(Fields& fields, const WorkBudget& budget, bool last) {
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

Phase::Costs read_costs(Fields& fields) {
  Phase::Costs costs;
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
  } else if (!flees && !phase.server_protocol()->takes_all()) {
    fields.complain("stragglers", "elastic needs a protocol that takes a gradient of every learner",
                    "sync, hardsync");
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

Phase read_phase(Fields& fields, const Setting& setting, bool last) {
  Phase phase;
  read_kind<MakeProtocol, const Setting&>(fields, "protocol", protocol_catalog(), phase.protocol,
                                          Need::required, "what runs in the phase", setting);
  if (phase.protocol && !phase.protocol()->changes().empty()) {
    fields.complain("protocol", "phases are not nested", "any other protocol");
  }
  if (phase.protocol && !for_server(phase.protocol())) {
    fields.complain("protocol", "has no server, and a switch is between protocols of one");
    phase.protocol = {};
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

}  // namespace gradrace
