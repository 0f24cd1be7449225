#include "sim/ring_order.h"

#include <algorithm>
#include <limits>

namespace gradrace {

namespace {

/// Dynamic programming over the sets of places that a path from 0 has visited (Held and Karp, 1962)
/// with the largest cost in place of the sum.
class ExactRing {
 public:
  ExactRing(std::uint32_t n, const RingCost& cost) : n_(n), cost_(cost), rest_((1u << n) * n) {
    for (std::uint32_t visited = (1u << n) - 1; visited > 0; --visited)
      for (std::uint32_t last = 0; last < n; ++last) at(visited, last) = best(visited, last);
  }

  std::vector<std::uint32_t> order() {
    std::vector<std::uint32_t> order{0};
    const double slowest = at(1, 0);
    for (std::uint32_t visited = 1; order.size() < n_;) {
      std::uint32_t next = 1;
      while (visited >> next & 1 || through(visited, order.back(), next) > slowest) ++next;
      order.push_back(next);
      visited |= 1u << next;
    }
    return order;
  }

 private:
  double& at(std::uint32_t visited, std::uint32_t last) { return rest_[visited * n_ + last]; }

  double through(std::uint32_t visited, std::uint32_t last, std::uint32_t next) {
    return std::max(cost_(last, next), at(visited | 1u << next, next));
  }

  /// The slowest link of the rest of the ring.
  double best(std::uint32_t visited, std::uint32_t last) {
    if (visited == (1u << n_) - 1) return last == 0 ? 0 : cost_(last, 0);
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t next = 0; next < n_; ++next)
      if (!(visited >> next & 1)) least = std::min(least, through(visited, last, next));
    return least;
  }

  const std::uint32_t n_;
  const RingCost& cost_;
  std::vector<double> rest_;
};

std::vector<std::uint32_t> nearest_first(std::uint32_t n, const RingCost& cost) {
  std::vector<std::uint32_t> left(n - 1), order{0};
  for (std::uint32_t place = 1; place < n; ++place) left[place - 1] = place;
  while (!left.empty()) {
    const auto link = [&](std::uint32_t to) { return cost(order.back(), to); };
    const auto next = std::ranges::min_element(left, {}, link);
    const std::uint32_t place = *next;
    left.erase(next);
    order.push_back(place);
  }
  return order;
}

}  // namespace

std::vector<std::uint32_t> fastest_ring(std::uint32_t n, const RingCost& cost) {
  return n <= most_exact_ring ? ExactRing(n, cost).order() : nearest_first(n, cost);
}

double slowest_link(const std::vector<std::uint32_t>& order, const RingCost& cost) {
  double most = cost(order.back(), order.front());
  for (std::size_t i = 1; i < order.size(); ++i)
    most = std::max(most, cost(order[i - 1], order[i]));
  return most;
}

}  // namespace gradrace
