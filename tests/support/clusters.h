#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "distributions/cluster/cluster_runtimes.h"

namespace gradrace {

/// What a scenario's `cluster` says of times, from its JSON; a problem in it fails the test.
std::shared_ptr<const ClusterRuntimes> cluster_of(const std::string& json,
                                                  std::uint32_t learners = 8);

/// The times of a run on it.
std::unique_ptr<Runtimes> runtimes_of(const std::string& json, std::uint32_t learners = 8,
                                      std::uint64_t seed = 1, std::uint32_t replica = 0);

}  // namespace gradrace
