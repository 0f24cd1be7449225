#include <doctest/doctest.h>

#include "tests/support/schedule.h"

namespace gradrace::fresh_k_test {

TEST_CASE(
    "guide: the protocol of EXTENDING.md drops what is stale (K = 2, P = 3, worked by hand)") {
  CHECK(schedule(R"({"kind": "fresh-k", "k": 2})", 3, {1, 2, 4, 3, 1, 9, 9, 9}, 2) ==
        std::vector<std::string>{"0 dispatch 0@0", "0 dispatch 1@0", "0 dispatch 2@0",
                                 "1 arrive 0@0", "2 arrive 1@0", "2 update 1: 0@0+0 1@0+0",
                                 "2 dispatch 0@1", "2 dispatch 1@1", "3 arrive 1@1", "4 drop 2@0",
                                 "4 dispatch 2@1", "5 arrive 0@1", "5 update 2: 1@1+0 0@1+0",
                                 "5 dispatch 0@2", "5 dispatch 1@2"});
}

TEST_CASE("guide: K = P of the protocol of EXTENDING.md waits for all") {
  check_iteration_time(R"({"kind": "fresh-k", "k": 8})", 2.717857142857143);
}

}  // namespace gradrace::fresh_k_test
