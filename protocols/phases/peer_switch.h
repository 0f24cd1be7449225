#pragma once

#include "protocols/phases/phase.h"

namespace gradrace {

/// `switch` between protocols without a server: makes one for each run.
MakeProtocol make_peer_switch(const Phases& phases);

}  // namespace gradrace
