#include "sim/cli/scenario/shard.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace gradrace::shard_test {

namespace {

/// Of each shard the work that it has, after a check that each run is in one of them.
std::vector<double> loads_of(unsigned shards, const std::vector<double>& work) {
  std::vector<double> loads;
  std::vector<int> times(work.size());
  for (unsigned number = 1; number <= shards; ++number) {
    loads.push_back(0);
    const auto runs = runs_of({number, shards}, work);
    CHECK(std::ranges::is_sorted(runs));
    for (const std::size_t run : runs) loads.back() += work[run], ++times[run];
  }
  CHECK(std::ranges::all_of(times, [](int count) { return count == 1; }));
  return loads;
}

}  // namespace

TEST_CASE("shard: each run is in one shard, and shards are equal to the longest run") {
  for (const std::size_t runs : {0u, 1u, 5u, 100u, 1001u}) {
    for (const unsigned shards : {1u, 2u, 7u, 300u}) {
      std::vector<double> work(runs);
      for (std::size_t run = 0; run < runs; ++run) work[run] = 8 << run * 7 % 5;
      const auto loads = loads_of(shards, work);
      if (runs == 0) continue;
      CHECK(std::ranges::max(loads) - std::ranges::min(loads) <= std::ranges::max(work));
    }
  }
}

TEST_CASE("shard: last digits of the estimates hardly matter") {
  std::vector<double> work(1000), other(1000);
  for (std::size_t run = 0; run < work.size(); ++run) {
    work[run] = 100 + static_cast<double>(run % 13);
    other[run] = work[run] * (1 + 1e-12 * static_cast<double>(run % 3));
  }
  for (unsigned number = 1; number <= 9; ++number)
    CHECK(runs_of({number, 9}, work) == runs_of({number, 9}, other));
}

TEST_CASE("shard: as the command line and files name it") {
  CHECK(Shard::from("3/7")->text() == "3/7");
  CHECK(Shard::from("3/7")->file_name() == "3-of-7");
  CHECK(Shard::from_file_name("3-of-7")->number == 3);
  for (const char* text :
       {"", "3", "/", "3/", "/7", "0/7", "8/7", "3/07", "+3/7", "3/7 ", "3-of-7"})
    CHECK_FALSE(Shard::from(text));
}

}  // namespace gradrace::shard_test
