#include "sim/engine/shared_link.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "sim/engine/capped_link.h"

namespace gradrace::shared_link_test {

TEST_CASE("shared_link: transfers under way share it equally, worked by hand") {
  SharedLink link(2);  // 3 units of time for one alone
  CHECK(link.is_idle());
  link.enter(7, 6, 10);
  CHECK(link.next_end() == 13);
  link.enter(5, 6, 11);  // 7 has 4 bytes left, at 1 a unit of time from now on
  CHECK(link.next_end() == 15);
  link.enter(6, 6, 13);  // 7 has 2 left, 5 has 4, at 2/3
  CHECK(link.next_end() == doctest::Approx(16));
  CHECK(link.pop(16) == 7);
  CHECK(link.next_end() == doctest::Approx(18));  // 5 has 2 left, 6 has 4
  CHECK(link.pop(18) == 5);
  CHECK(link.next_end() == doctest::Approx(19));  // 6 has 2 left, all for itself
  CHECK(link.pop(19) == 6);
  CHECK(link.is_idle());
  link.enter(1, 6, 100);
  CHECK(link.next_end() == 103);
}

TEST_CASE("shared_link: who gives up leaves its share to the others") {
  SharedLink link(2);
  for (const std::uint32_t learner : {1u, 2u, 3u}) link.enter(learner, 6, 0);
  link.remove(2, 3);  // each has 4 left
  CHECK(link.next_end() == doctest::Approx(7));
  link.remove(9, 4);  // is not there
  CHECK(link.next_end() == doctest::Approx(7));
  CHECK(link.pop(7) == 1);
  CHECK(link.pop(7) == 3);
  link.enter(4, 6, 8);
  link.clear(8.5);
  link.enter(5, 6, 9);
  CHECK(link.next_end() == 12);
  CHECK(link.busy(10) == 7 + 0.5 + 1);
}

TEST_CASE("shared_link: transfers of other sizes overtake each other, worked by hand") {
  SharedLink link(2);
  link.enter(7, 6, 10);
  link.enter(5, 1, 11);  // 7 has 4 left; both at 1 a unit of time
  CHECK(link.next_end() == 12);
  link.enter(6, 3.5, 11.5);  // 5 has 0.5 left, 7 and 6 have 3.5, at 2/3: at once, who came first
  CHECK(link.next_end() == doctest::Approx(12.25));
  CHECK(link.pop(12.25) == 5);
  CHECK(link.next_end() == doctest::Approx(15.25));  // 3 left, each at 1
  link.remove(6, 13.25);                             // 2 left of each
  link.enter(2, 1, 13.25);
  CHECK(link.pop(14.25) == 2);
  CHECK(link.next_end() == doctest::Approx(14.75));
  CHECK(link.pop(14.75) == 7);
  CHECK(link.is_idle());
}

/// Transfers of whole bytes, many of which end at once: they end in the order of their ends, then
/// in that in which they began, also where some are given up.
template <class Link>
void check_order(Link&& link, auto enter, auto remove) {
  std::mt19937_64 random(5);
  std::vector<std::pair<int, std::uint32_t>> under_way;  // end, learner
  int carried = 0;
  double now = 0;
  for (std::uint32_t learner = 0; learner < 4'000; ++learner) {
    const int bytes = 1 + static_cast<int>(random() % 20);
    enter(link, learner, bytes, now);
    const auto after = std::ranges::upper_bound(under_way, carried + bytes, {},
                                                &std::pair<int, std::uint32_t>::first);
    under_way.insert(after, {carried + bytes, learner});
    if (random() % 8 == 0) {
      const auto gone = under_way.begin() + static_cast<int>(random() % under_way.size());
      remove(link, gone->second, now);
      under_way.erase(gone);
    }
    while (!under_way.empty() && random() % 5 < (learner % 400 < 200 ? 1 : 3)) {
      now = link.next_end();
      REQUIRE(link.pop(now) == under_way.front().second);
      carried = under_way.front().first;
      under_way.erase(under_way.begin());
    }
    REQUIRE(link.is_idle() == under_way.empty());
    if (under_way.empty()) carried = 0;
  }
}

TEST_CASE("shared_link: transfers of random sizes end in order, as do those below one cap") {
  check_order(
      SharedLink(16), [](auto& link, auto... transfer) { link.enter(transfer...); },
      [](auto& link, std::uint32_t learner, double now) { link.remove(learner, now); });
  for (const double cap : {0.25, 64.0}) {
    const std::vector<double> caps{cap};
    check_order(
        CappedLink(16, caps, 4'000),
        [](auto& link, auto... transfer) { link.enter(transfer..., 0); },
        [](auto& link, std::uint32_t learner, double now) { link.remove(learner, now, 0); });
  }
}

TEST_CASE("shared_link: many transfers that overtake others take no longer than in order") {
  constexpr std::uint32_t many = 300'000;
  SharedLink shared(1);
  const std::vector<double> caps{1};
  CappedLink capped(1, caps, many);
  for (std::uint32_t learner = 0; learner < many; ++learner) {
    shared.enter(learner, many - learner, 0);
    capped.enter(learner, many - learner, 0, 0);
  }
  for (std::uint32_t learner = many; learner-- > 0;) {
    REQUIRE(shared.pop(shared.next_end()) == learner);
    REQUIRE(capped.pop(capped.next_end()) == learner);
  }
}

}  // namespace gradrace::shared_link_test
