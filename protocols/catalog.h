#pragma once

#include "sim/learning_rate.h"
#include "sim/protocol.h"

namespace gradrace {

const ProtocolCatalog& protocol_catalog();
const LearningRateCatalog& learning_rate_catalog();

}  // namespace gradrace
