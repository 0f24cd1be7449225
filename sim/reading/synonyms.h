#pragma once

#include <span>
#include <string_view>

namespace gradrace {

/// Which of the names a word means that is none of them: the one that the field also calls so (BSP
/// is sync, FedAvg local-sgd), else the nearest (nearest_name()); empty if there is none.
std::string_view name_meant(std::string_view word, std::span<const std::string_view> names);

}  // namespace gradrace
