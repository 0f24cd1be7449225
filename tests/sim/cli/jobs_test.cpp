#include "sim/cli/commands/jobs.h"

#include <doctest/doctest.h>

namespace gradrace {

TEST_CASE("jobs: one for each core, on CUDA one for 64 runs") {
  CHECK(default_jobs(false, 1, 16) == 16);
  CHECK(default_jobs(false, 100'000, 16) == 16);
  CHECK(default_jobs(true, 1, 16) == 1);
  CHECK(default_jobs(true, 127, 16) == 1);
  CHECK(default_jobs(true, 128, 16) == 2);
  CHECK(default_jobs(true, 1023, 16) == 15);
  CHECK(default_jobs(true, 1024, 16) == 16);
  CHECK(default_jobs(true, 1'000'000, 16) == 16);
  CHECK(default_jobs(true, 1024, 1) == 1);
}

}  // namespace gradrace
