#include <doctest/doctest.h>

#include "tests/support/race_text.h"
#include "tests/support/reading.h"
#include "tests/support/recorded_peers.h"

using namespace gradrace;

using Lines = std::vector<std::string>;

TEST_CASE("partial-reduce: the first that are ready go together") {
  CHECK(orders(R"({"kind": "partial-reduce", "group": 3})", 4, {1, 2, 3, 4, 1, 3, 2, 1, 2, 5}, 9) ==
        Lines{"0 compute 0", "0 compute 1", "0 compute 2", "0 compute 3",  //
              "3 begin 0 1 2", "5 average 0 1 2",                          //
              "5 compute 0", "5 compute 1", "5 compute 2",                 //
              "7 begin 0 2 3", "9 average 0 2 3",                          //
              "9 compute 0", "9 compute 2", "9 compute 3", "11 begin 0 1 2"});
}

TEST_CASE("partial-reduce: a group of one sends nothing") {
  CHECK(orders(R"({"kind": "partial-reduce", "group": 1})", 2, {1, 2.5, 1, 1, 1}, 3) ==
        Lines{"0 compute 0", "0 compute 1", "1 compute 0", "2 compute 0", "2.5 compute 1"});
}

TEST_CASE("partial-reduce: nobody waits for one slow learner but those left over") {
  // Five of six, one of whom never comes: pairs of the others, and one is left each time.
  Race race = race_of(6, R"({"kind": "partial-reduce", "group": 2})", R"({"updates": 30000})",
                      R"({"distribution": "exponential", "mean": 1})");
  const RunRecord record = run_timing(race);
  CHECK(record.totals.updates == 30000);
  for (const LearnerTotals& learner : record.learners) {
    CHECK(learner.gradients > 4000);
    CHECK(learner.peer->conflicts == 0);
  }
}
