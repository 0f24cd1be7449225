#pragma once

#include <string>

#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// What to mind where protocols are compared at one learning rate, as each may have another best
/// one, or points of one protocol whose updates average unlike numbers of gradients; empty where
/// not.
std::string one_rate_warning(const Scenario& scenario);

}  // namespace gradrace
