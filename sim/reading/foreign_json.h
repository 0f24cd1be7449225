#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace gradrace {

/// What a JSON text says that may come from anybody: discarded where it is none, or is nested
/// deeper than scenarios may be, since values copy and compare themselves level by level, or has an
/// object of more keys than theirs may have.
nlohmann::ordered_json foreign_json(std::string_view text);

}  // namespace gradrace
