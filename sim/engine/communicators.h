#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/peer_network.h"

namespace gradrace {

/// The communicators that are set up: one for each of the member sets used last, as many as the
/// network keeps.
class Communicators {
 public:
  explicit Communicators(const PeerNetwork& network)
      : setup_(network.communicator_setup), most_(network.communicators) {}

  /// The members, in ascending order, use theirs: the time that it takes to set it up, 0 if there
  /// is one, or one member.  The one used least recently goes out.
  double use(std::span<const std::uint32_t> members);

 private:
  struct Communicator {
    std::uint64_t last_use;
    std::vector<std::uint32_t> members;
  };

  const double setup_;
  const std::uint32_t most_;
  std::uint64_t uses_ = 0;
  std::vector<std::uint64_t> hashes_;  // of the members
  std::vector<Communicator> kept_;     // in the same order
};

}  // namespace gradrace
