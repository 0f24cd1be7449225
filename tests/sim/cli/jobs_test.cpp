#include "sim/cli/commands/jobs.h"

#include <doctest/doctest.h>

#include "sim/cli/results/manifest.h"

namespace gradrace::jobs_test {

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

TEST_CASE("jobs: the device's line counts threads, and the runs of each where they are several") {
  const auto line = [](std::size_t threads, std::size_t cohort) {
    return device_text({.name = "cpu", .cohort = cohort, .threads = threads, .gradients = 300}, 2);
  };
  CHECK(line(1, 1) == "device: cpu, 1 thread, 150 gradients/s");
  CHECK(line(2, 1) == "device: cpu, 2 threads, 150 gradients/s");
  CHECK(line(1, 64) == "device: cpu, 1 thread with up to 64 runs side by side, 150 gradients/s");
  CHECK(line(2, 64) ==
        "device: cpu, 2 threads, each with up to 64 runs side by side, 150 gradients/s");
}

}  // namespace gradrace::jobs_test
