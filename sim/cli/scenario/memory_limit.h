#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace gradrace {

/// The least of the limits on what this process may hold.
struct MemoryLimit {
  double bytes;
  std::string source;  // "this machine's memory", "memory.max of the control group"
};

/// Physical memory, memory.max of the control group and of those above it (version 1: what its file
/// of that purpose says), what Slurm has given the job on this node, RLIMIT_AS and RLIMIT_DATA.
/// root: where the files of the system are.  variable: of the environment, null where it is not
/// set.
MemoryLimit memory_limit(const std::filesystem::path& root = "/",
                         const std::function<const char*(const char*)>& variable = {});

}  // namespace gradrace
