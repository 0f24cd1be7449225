#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace gradrace {

inline constexpr std::uint32_t most_exact_ring = 10;  // places

/// In which order n places stand in a ring, from place 0 on, whose slowest link is as fast as can
/// be: of all orders for n <= most_exact_ring, the first of the best in the order of words; of more
/// places each is followed by the one of those left to which its link is the fastest, the first
/// among equals. cost(from, to): what a link takes; the ring ends where it begins.
std::vector<std::uint32_t> fastest_ring(
    std::uint32_t n, const std::function<double(std::uint32_t from, std::uint32_t to)>& cost);

}  // namespace gradrace
