#include "models/cpu/crew.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

namespace gradrace::crew_test {

TEST_CASE("crew: every part is done once, whatever the number of threads") {
  for (const std::size_t threads : {1u, 2u, 3u, 5u}) {
    Crew crew(threads);
    CHECK(crew.threads() == threads);
    for (const std::size_t parts : {0u, 1u, 2u, 7u, 1000u}) {
      std::vector<int> done(parts);
      std::vector<std::size_t> by(parts);
      crew.share(parts, [&](std::size_t thread, std::size_t part) {
        ++done[part];
        by[part] = thread;
      });
      CHECK(done == std::vector<int>(parts, 1));
      for (const std::size_t thread : by) CHECK(thread < threads);
    }
  }
}

TEST_CASE("crew: what a part throws comes back, and the next call is as any") {
  Crew crew(3);
  const auto fail_at = [](std::size_t, std::size_t part) {
    if (part == 5) throw std::runtime_error("five");
  };
  CHECK_THROWS_WITH(crew.share(20, fail_at), "five");
  std::vector<int> done(20);
  crew.share(20, [&](std::size_t, std::size_t part) { ++done[part]; });
  CHECK(done == std::vector<int>(20, 1));
}

}  // namespace gradrace::crew_test
