#pragma once

#include <boost/uuid/uuid.hpp>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace gradrace {

/// Goes up with every change that gives a run other results: runs of another number are not taken
/// for those of this program.  tests/sim/cli/results_version_test.py tells when.
inline constexpr int results_version = 7;

/// What of a scenario, resolved or as it is written, bears on the results of a run, without its
/// replica: not names and texts, the sweep and the number of replicas; data by the last component
/// of their paths, wherever they are.
nlohmann::ordered_json bearing_on_results(nlohmann::ordered_json scenario);

/// With the last component of each path alone.
nlohmann::ordered_json with_short_paths(nlohmann::ordered_json scenario);

/// Names a run by all that bears on its results but the content of its data.
using RunKey = boost::uuids::uuid;

/// Of a resolved point, without a replica.
RunKey point_key(nlohmann::ordered_json resolved);
/// Of the same point on a GPU.
RunKey on_gpu(const RunKey& point);
RunKey run_key(const RunKey& point, std::uint32_t replica);

}  // namespace gradrace
