#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace gradrace {

inline constexpr std::uint32_t most_exact_ring = 10;  // places

/// What a link takes.
using RingCost = std::function<double(std::uint32_t from, std::uint32_t to)>;

/// In which order n places stand in a ring, from place 0 on, whose slowest link is as fast as can
/// be: of all orders for n <= most_exact_ring, the first of the best in the order of words; of more
/// places each is followed by the one of those left to which its link is the fastest, the first
/// among equals.  The ring ends where it begins.
std::vector<std::uint32_t> fastest_ring(std::uint32_t n, const RingCost& cost);

/// The largest cost on its way.
double slowest_link(const std::vector<std::uint32_t>& order, const RingCost& cost);

}  // namespace gradrace
