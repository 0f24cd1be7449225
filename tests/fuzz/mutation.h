#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradrace {

/// Input n of a seed: one of the seeds with some changes of bytes, of numbers, of whole lines, or a
/// part of another one in it.
std::string mutated(const std::vector<std::string>& seeds, std::uint64_t seed, std::uint64_t n);

}  // namespace gradrace
