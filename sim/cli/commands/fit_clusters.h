#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "distributions/fit/trace_fit.h"

namespace gradrace {

/// As many as the job of a step has, else those of the trace.
std::size_t learners_of(const TraceFit& fit);

/// The object of a scenario's key `cluster` that behaves as the trace by the verdict.
nlohmann::ordered_json fitted_cluster(const TraceFit& fit);

/// The one that replays it; null where its times are not those of whole minibatches.
nlohmann::ordered_json replaying_cluster(const TraceFit& fit, const std::filesystem::path& sample);

}  // namespace gradrace
