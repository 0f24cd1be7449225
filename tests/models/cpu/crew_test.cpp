#include "models/cpu/crew.h"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/helpers.h"

namespace gradrace::crew_test {

TEST_CASE("crew: every part is done once, whatever the number of members") {
  for (const std::size_t members : {1u, 2u, 3u, 5u}) {
    with_helpers(members, [&](Crew& crew) {
      CHECK(crew.members() == members);
      for (const std::size_t parts : {0u, 1u, 2u, 7u, 1000u}) {
        std::vector<int> done(parts);
        std::vector<std::size_t> by(parts);
        crew.share(0, parts, [&](std::size_t member, std::size_t part) {
          ++done[part];
          by[part] = member;
        });
        CHECK(done == std::vector<int>(parts, 1));
        for (const std::size_t member : by) CHECK(member < members);
      }
    });
  }
}

TEST_CASE("crew: members who have done their work help the others") {
  with_helpers(2, [](Crew& crew) {
    std::atomic<int> at_work = 0;
    crew.share(0, 2, [&](std::size_t, std::size_t) {
      ++at_work;
      while (at_work < 2) std::this_thread::yield();  // both at once
    });
    CHECK(at_work == 2);
  });
}

TEST_CASE("crew: several calls at once, each of all its parts") {
  constexpr std::size_t members = 4, calls = 200, parts = 9;
  Crew crew(members);
  std::vector<std::vector<int>> done(members, std::vector<int>(parts));
  {
    std::vector<std::jthread> threads;
    for (std::size_t member = 0; member < members; ++member)
      threads.emplace_back([&, member] {
        for (std::size_t call = 0; call < member * calls; ++call)
          crew.share(member, parts, [&](std::size_t, std::size_t part) { ++done[member][part]; });
        crew.help(member);
      });
  }
  CHECK(crew.helpers() == members);
  for (std::size_t member = 0; member < members; ++member)
    CHECK(done[member] == std::vector<int>(parts, static_cast<int>(member * calls)));
}

TEST_CASE("crew: members who do not come are not waited for") {
  Crew crew(3);
  std::jthread other([&crew] { crew.help(1); });
  crew.lack(1);
  crew.help(0);
  CHECK(crew.members() == 2);
}

TEST_CASE("crew: what a part throws comes back, and the next call is as any") {
  with_helpers(3, [](Crew& crew) {
    const auto fail_at = [](std::size_t, std::size_t part) {
      if (part == 5) throw std::runtime_error("five");
    };
    CHECK_THROWS_WITH(crew.share(0, 20, fail_at), "five");
    std::vector<int> done(20);
    crew.share(0, 20, [&](std::size_t, std::size_t part) { ++done[part]; });
    CHECK(done == std::vector<int>(20, 1));
  });
}

}  // namespace gradrace::crew_test
