#pragma once

#include <algorithm>
#include <cstddef>

namespace gradrace {

/// Threads of a command that is not told how many: the cores; on CUDA, where each has a part of the
/// device and what a launch costs is shared by its runs, one for 64 runs.
inline unsigned default_jobs(bool cuda, std::size_t runs, unsigned cores) {
  return cuda ? static_cast<unsigned>(std::clamp<std::size_t>(runs / 64, 1, cores)) : cores;
}

}  // namespace gradrace
