#include "sim/cli/scenario/memory_limit.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/support/temporary_folder.h"

namespace gradrace::memory_limit_test {

namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

const char* none(const char*) { return nullptr; }

}  // namespace

TEST_CASE("memory limit: the least of a control group's and of those above it") {
  const TemporaryFolder folder;
  const fs::path root = folder.path();
  const double physical = memory_limit(root, none).bytes;
  write(root / "proc/self/cgroup", "0::/slice/job/step\n");
  const fs::path groups = root / "sys/fs/cgroup/slice";
  write(groups / "job/step/memory.max", "max\n");
  CHECK(memory_limit(root, none).bytes == physical);
  write(groups / "memory.max", "30000000\n");
  write(groups / "job/memory.max", "20000000\n");
  const MemoryLimit limit = memory_limit(root, none);
  CHECK(limit.bytes == 20000000);
  CHECK(limit.source == "memory.max of the control group");
  write(root / "proc/self/cgroup", "5:cpu:/a\n4:memory:/b\n");
  write(root / "sys/fs/cgroup/memory/b/memory.limit_in_bytes", "10000000\n");
  CHECK(memory_limit(root, none).source == "memory.limit_in_bytes of the control group");
}

TEST_CASE("memory limit: what Slurm gives a job on a node") {
  const TemporaryFolder folder;
  std::map<std::string, std::string> set{{"SLURM_MEM_PER_NODE", "3"}};
  const auto variable = [&](const char* name) {
    const auto found = set.find(name);
    return found == set.end() ? nullptr : found->second.c_str();
  };
  CHECK(memory_limit(folder.path(), variable).bytes == 3 << 20);
  set = {{"SLURM_MEM_PER_CPU", "2"}, {"SLURM_CPUS_ON_NODE", "4"}};
  CHECK(memory_limit(folder.path(), variable).bytes == 8 << 20);
  set = {{"SLURM_MEM_PER_NODE", "0"}};
  CHECK(memory_limit(folder.path(), variable).bytes > 8 << 20);
}

}  // namespace gradrace::memory_limit_test
