#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/reading/fields.h"

namespace gradrace {

/// Visits the key `learners` of what concerns some of them: numbers below `count`, ascending, each
/// once; at least one where it is there.
void visit_some_learners(Fields& fields, std::vector<std::uint32_t>& learners, std::uint32_t count,
                         Need need, std::string_view meaning);

}  // namespace gradrace
