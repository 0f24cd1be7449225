#pragma once

#include <string>

#include "sim/cli/scenario/scenario.h"

namespace gradrace {

/// What to mind where protocols are compared at one learning rate, as each may have another best
/// one; empty where they are not.
std::string one_rate_warning(const Scenario& scenario);

}  // namespace gradrace
