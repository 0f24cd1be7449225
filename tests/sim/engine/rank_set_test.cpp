#include "sim/engine/rank_set.h"

#include <doctest/doctest.h>

#include <iterator>
#include <random>
#include <set>

namespace gradrace::rank_set_test {

TEST_CASE("rank_set: neighbours after 3,000 changes of sets of ten sizes, against std::set") {
  std::mt19937_64 random(64);
  for (const std::uint32_t ranks : {0u, 1u, 63u, 64u, 65u, 127u, 4095u, 4096u, 4097u, 300'000u}) {
    CAPTURE(ranks);
    RankSet set(ranks);
    std::set<std::uint32_t> plain;
    for (int change = 0; change < 3'000; ++change) {
      if (ranks > 0) {
        const auto rank = static_cast<std::uint32_t>(random() % ranks);
        plain.contains(rank) ? (set.erase(rank), plain.erase(rank))
                             : (set.insert(rank), plain.insert(rank).second);
        REQUIRE(set.contains(rank) == plain.contains(rank));
      }
      const auto at = static_cast<std::uint32_t>(random() % (ranks + 1));
      const auto next = plain.lower_bound(at);
      REQUIRE(set.from(at) == (next == plain.end() ? ranks : *next));
      REQUIRE(set.before(at) == (next == plain.begin() ? ranks : *std::prev(next)));
    }
  }
}

}  // namespace gradrace::rank_set_test
