#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "sim/catalog.h"
#include "sim/peer_protocol.h"
#include "sim/python/python_class.h"
#include "sim/server_protocol.h"

namespace gradrace {

/// A protocol of one of the two kinds.
struct AnyProtocol : std::variant<std::unique_ptr<ServerProtocol>, std::unique_ptr<PeerProtocol>> {
  using variant::variant;

  Protocol* operator->() const {
    return std::visit([](const auto& protocol) -> Protocol* { return protocol.get(); }, *this);
  }
  bool has_server() const { return index() == 0; }
};

/// Makes a fresh protocol for one run.
using MakeProtocol = std::function<AnyProtocol()>;

/// What the reader of a protocol may know of its race.
struct Setting {
  std::uint32_t learners = 1;                   // P
  std::shared_ptr<const Distribution> runtime;  // null where it is no single law
  WorkBudget budget;
  std::uint32_t per_node = 0;  // learners in a node; 0: there are no nodes
  bool has_state = true;       // the optimiser keeps more than parameters
  double fastest = 0;          // time of a minibatch of the fastest learner; 0: not known
  // [learner]: means of independent runtimes; empty: not known.
  std::function<std::vector<double>()> means = {};
  std::shared_ptr<const Layers> layers = {};  // that all-reduce exchanges; null: none
  PythonFiles* python = nullptr;              // null: no file is looked at
};

using ProtocolEntry = Entry<MakeProtocol, const Setting&>;
using ProtocolCatalog = Catalog<MakeProtocol, const Setting&>;

/// The entry of a protocol class with `struct Config`, `static void visit(Fields&, Config&,
/// learners)` and a constructor from Config and learners.
template <class P>
MakeProtocol read_protocol(Fields& fields, const Setting& setting) {
  typename P::Config config;
  P::visit(fields, config, setting.learners);
  if (!fields.good()) return {};
  return [config, learners = setting.learners] { return std::make_unique<P>(config, learners); };
}

}  // namespace gradrace
