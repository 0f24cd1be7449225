#include <doctest/doctest.h>

#include "tests/support/race_text.h"
#include "tests/support/recorded_peers.h"

namespace gradrace::partial_reduce_test {

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

// Five learners of rate 1 and one of rate e, in pairs.  From nobody ready it is a fast one after
// 1 / (5 + e), and the next to come is its partner, after 1 / (4 + e); or it is the slow one, and
// the next comes after 1 / 5.
TEST_CASE("partial-reduce: nobody waits for one slow learner") {
  const double e = 0.01;
  const RunRecord record =
      run_timing(point_from(R"({"cluster": {"learners": 6, "speeds": [1, 1, 1, 1, 1, 0.01],
          "runtime": {"distribution": "exponential", "mean": 1}},
          "protocol": {"kind": "partial-reduce", "group": 2}, "stop": {"updates": 400000}})")
                     .race());
  const double pair = (1 + 5 / (4 + e) + e / 5) / (5 + e);
  CHECK(record.totals.time / 200000 == doctest::Approx(pair).epsilon(0.01));
  for (unsigned learner = 0; learner < 5; ++learner)
    CHECK(record.learners[learner].gradients == doctest::Approx(80000).epsilon(0.02));
  CHECK(record.learners[5].gradients < 1000);
}

}  // namespace gradrace::partial_reduce_test
