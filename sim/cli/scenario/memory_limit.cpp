#include "sim/cli/scenario/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace gradrace {

namespace fs = std::filesystem;

namespace {

constexpr double mebibyte = 1 << 20;

/// A whole number of bytes; none of "max", of what is no number, or without a text.
std::optional<double> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data()) return {};
  return static_cast<double>(number);
}

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

class Least {
 public:
  void take(std::optional<double> bytes, const std::string& source) {
    if (bytes && *bytes < limit_.bytes) limit_ = {*bytes, source};
  }
  const MemoryLimit& limit() const { return limit_; }

 private:
  MemoryLimit limit_{std::numeric_limits<double>::infinity(), "no limit"};
};

void take_physical(Least& least) {
  least.take(
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE)),
      "this machine's memory");
}

/// Of a group and all above it, below the place where groups are mounted.
void take_groups(Least& least, const fs::path& mount, const fs::path& group,
                 const std::string& file) {
  for (fs::path at = group.relative_path();; at = at.parent_path()) {
    least.take(number_of(first_line(mount / at / file)), file + " of the control group");
    if (at.empty()) return;
  }
}

/// /proc/self/cgroup: "0::/path" of version 2, "4:memory:/path" of version 1.
void take_control_groups(Least& least, const fs::path& root) {
  std::ifstream groups(root / "proc/self/cgroup");
  const fs::path mount = root / "sys/fs/cgroup";
  for (std::string line; std::getline(groups, line);) {
    const std::size_t path = line.find('/');
    if (path == std::string::npos) continue;
    if (line.starts_with("0::")) {
      take_groups(least, mount, line.substr(path), "memory.max");
    } else if (line.find(":memory:") != std::string::npos) {
      take_groups(least, mount / "memory", line.substr(path), "memory.limit_in_bytes");
    }
  }
}

/// In MB, 0 where the job may have all.
void take_slurm(Least& least, const std::function<const char*(const char*)>& variable) {
  const auto number = [&](const char* name) -> std::optional<double> {
    const char* const text = variable(name);
    const auto value = number_of(text ? text : "");
    return value && *value > 0 ? value : std::nullopt;
  };
  if (const auto node = number("SLURM_MEM_PER_NODE"))
    least.take(*node * mebibyte, "SLURM_MEM_PER_NODE");
  const auto of_cpu = number("SLURM_MEM_PER_CPU"), cpus = number("SLURM_CPUS_ON_NODE");
  if (of_cpu && cpus)
    least.take(*of_cpu * *cpus * mebibyte, "SLURM_MEM_PER_CPU times SLURM_CPUS_ON_NODE");
}

void take_resource(Least& least, int resource, const char* source) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return;
  if (limit.rlim_cur == RLIM_INFINITY) return;
  least.take(static_cast<double>(limit.rlim_cur), source);
}

}  // namespace

MemoryLimit memory_limit(const fs::path& root,
                         const std::function<const char*(const char*)>& variable) {
  Least least;
  take_physical(least);
  take_control_groups(least, root);
  take_slurm(
      least, variable ? variable : [](const char* name) -> const char* {
        return std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets one
      });
  take_resource(least, RLIMIT_AS, "ulimit -v (RLIMIT_AS)");
  take_resource(least, RLIMIT_DATA, "ulimit -d (RLIMIT_DATA)");
  return least.limit();
}

}  // namespace gradrace
