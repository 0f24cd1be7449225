#include <doctest/doctest.h>

#include "tests/support/schedule.h"

namespace gradrace::sync_test {

namespace {
const char* const sync_protocol = R"({"kind": "sync"})";
}

TEST_CASE("sync: waits for all, then all read the next version") {
  CHECK(schedule(sync_protocol, 2, {1, 2, 4, 3, 1, 1}, 2) ==
        std::vector<std::string>{"0 dispatch 0@0", "0 dispatch 1@0", "1 arrive 0@0", "2 arrive 1@0",
                                 "2 update 1: 0@0+0 1@0+0", "2 dispatch 0@1", "2 dispatch 1@1",
                                 "5 arrive 1@1", "6 arrive 0@1", "6 update 2: 1@1+0 0@1+0",
                                 "6 dispatch 0@2", "6 dispatch 1@2"});
}

TEST_CASE("sync: the mean time between updates is the expected maximum of 8 exponentials, 2.718") {
  check_iteration_time(sync_protocol, 2.717857142857143);
}

TEST_CASE("sync: theory holds for three laws") { check_theory(sync_protocol); }

TEST_CASE("sync: no gradient is ever stale") {
  check_staleness(sync_protocol, 8, 8, 0, exponential_1);
  check_staleness(sync_protocol, 5, 5, 0, pareto_2_1);
}

TEST_CASE("sync: hardsync is another name of it") {
  CHECK(events(R"({"kind": "hardsync"})", 5, 200) == events(sync_protocol, 5, 200));
}

}  // namespace gradrace::sync_test
