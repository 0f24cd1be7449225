#include <doctest/doctest.h>

#include "tests/support/schedule.h"

using namespace gradrace;

TEST_CASE("guide: the protocol of EXTENDING.md drops what is stale (K = 2, P = 3, worked by hand)") {
  CHECK(schedule(R"({"kind": "fresh-k", "k": 2})", 3, {1, 2, 4, 3, 1, 9, 9, 9}, 2) ==
        std::vector<std::string>{});
}

TEST_CASE("guide: K = P of the protocol of EXTENDING.md waits for all") {
  check_iteration_time(R"({"kind": "fresh-k", "k": 8})", 2.717857142857143);
}
