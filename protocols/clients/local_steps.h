#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/make_protocol.h"

namespace gradrace {

/// `tau` of a protocol with a server: the steps that a learner makes by itself before it sends the
/// sum of their gradients, see Race::local_steps; with k-async and k-batch-async FedBuff (Nguyen et
/// al., AISTATS 2022), with sync FedAvg (McMahan et al., AISTATS 2017).
struct LocalSteps {
  std::optional<std::uint64_t> tau = {};

  /// Of the protocol's open object.
  void visit(Fields& fields);
  /// That protocol, of such gradients.
  MakeProtocol before(MakeProtocol make) const;
};

}  // namespace gradrace
