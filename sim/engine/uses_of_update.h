#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/race.h"
#include "sim/gradient_facts.h"
#include "sim/learning_rate.h"
#include "sim/tape.h"

namespace gradrace {

/// Of an update of those gradients, which know their staleness, under that plan and after so much
/// work of the model that it moves.
void list_uses(const Race& race, std::uint16_t plan, const Work& work,
               std::span<const GradientFacts> gradients, std::vector<Use>& uses);

}  // namespace gradrace
