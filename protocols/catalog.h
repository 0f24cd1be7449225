#pragma once

#include <string>
#include <string_view>

#include "sim/learning_rate.h"
#include "sim/make_protocol.h"

namespace gradrace {

const ProtocolCatalog& protocol_catalog();
const LearningRateCatalog& learning_rate_catalog();

/// Names of the protocols of which that is true, as their examples have them: "sync, hardsync".
std::string protocols_with(bool (*trait)(const AnyProtocol&));

/// The key `learning_rate` beside a protocol, which a rate by staleness or distance needs to have a
/// server.
void read_learning_rate(Fields& fields, LearningRateProduct& rate, Need need,
                        std::string_view meaning, const WorkBudget& budget, bool has_server);

}  // namespace gradrace
