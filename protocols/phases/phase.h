#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "protocols/catalog.h"
#include "protocols/policies/straggler_policy.h"
#include "protocols/policies/switch_policy.h"
#include "sim/make_protocol.h"

namespace gradrace {

/// One phase of the protocol `switch`, as a scenario has it.
struct Phase {
  /// When a phase is over.
  struct Ends {
    static constexpr double never = std::numeric_limits<double>::infinity();

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

    /// Of an update of so many gradients, by which the phase has made that many updates.
    double of_update(double updates, std::uint32_t gradients) const {
      const bool saves = checkpoint > 0 && static_cast<std::uint64_t>(updates) % every == 0;
      return per_update + gradients * per_gradient + (saves ? checkpoint : 0);
    }
    bool any() const { return per_update > 0 || per_gradient > 0 || checkpoint > 0; }
  };

  MakeProtocol protocol;
  Change change;
  std::vector<double> momenta;       // one after another; empty: the scenario's
  std::uint64_t momentum_every = 1;  // gradients from one to the next
  std::string velocity = "keep", in_flight = "cancel";
  bool has_server = true;
  MomentumState momentum_state = MomentumState::kept;  // without a server, when it begins
  Costs costs;
  StragglerPolicyProduct stragglers;  // null: they are nothing special
  Ends ends;

  /// Whether it would be over as soon as `before`, whose end is of the same kind, is.
  bool ends_with(const Phase& before) const;

  /// A fresh one.
  std::unique_ptr<ServerProtocol> server_protocol() const {
    return std::get<std::unique_ptr<ServerProtocol>>(protocol());
  }
  std::unique_ptr<PeerProtocol> peer_protocol() const {
    return std::get<std::unique_ptr<PeerProtocol>>(protocol());
  }

  bool from_rest() const { return velocity == "reset"; }

  /// What it follows: the changes for each of its momenta, before them that of a first update from
  /// rest.
  std::vector<Change> changes() const;

  /// Which of its changes is in force after so many updates and gradients of the phase.
  std::size_t change_after(std::uint64_t updates, std::uint64_t gradients) const;
};

/// Phases one after another, and the plans of the race that they follow.
class Phases {
 public:
  explicit Phases(std::vector<Phase> phases);

  const std::vector<Phase>& list() const { return phases_; }
  const Phase& operator[](std::size_t phase) const { return phases_[phase]; }

  /// Of `switch`, what its phases have in common.
  Traits traits() const;
  std::vector<Change> changes() const;

  /// What Server::follow() is told after so many updates and gradients of the phase.
  std::uint16_t plan(std::size_t phase, std::uint64_t updates, std::uint64_t gradients) const;

 private:
  std::vector<Phase> phases_;
  std::vector<std::size_t> first_plan_;  // [phase]
};

/// `last`: of the list; it has no end.
Phase read_phase(Fields& fields, const Setting& setting, bool last);

}  // namespace gradrace
