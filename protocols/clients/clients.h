#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "protocols/clients/local_steps.h"
#include "sim/make_protocol.h"

namespace gradrace {

/// `clients` of a protocol whose learners all begin anew at every update: for each update so many
/// are drawn of the P, without replacement, from a random stream of their own (McMahan et al.,
/// AISTATS 2017: FedAvg's clients of a round); the others are idle.
struct Clients {
  std::optional<std::uint64_t> count = {};

  std::uint32_t number() const { return static_cast<std::uint32_t>(*count); }
  /// Of the protocol's open object.
  void visit(Fields& fields, std::uint32_t learners);
  /// That protocol, of `count` learners, among all.
  std::unique_ptr<ServerProtocol> among_all(std::unique_ptr<ServerProtocol> protocol) const;
};

/// The `read` of a protocol's entry, with the key.
template <class P>
MakeProtocol read_with_clients(Fields& fields, const Setting& setting) {
  typename P::Config config;
  P::visit(fields, config, setting.learners);
  Clients clients;
  clients.visit(fields, setting.learners);
  LocalSteps steps;
  steps.visit(fields);
  if (!fields.good()) return {};
  if (!clients.count)
    return steps.before(
        [config, learners = setting.learners] { return std::make_unique<P>(config, learners); });
  const auto make = [config, clients] {
    return clients.among_all(std::make_unique<P>(config, clients.number()));
  };
  if (make()->k() > clients.number())
    fields.complain("k", "is more than the learners that are drawn",
                    "1 to " + std::to_string(clients.number()) + " (protocol.clients)");
  return steps.before(make);
}

}  // namespace gradrace
