#pragma once

#include <string>
#include <vector>

#include "sim/cli/scenario/scenario.h"
#include "sim/engine/run.h"

namespace gradrace {

/// A scenario's only point, from JSON text.  Throws ScenarioError.
Point point_from(const std::string& json);

/// {"learners": P, "protocol": protocol, exponential runtimes of mean 1, "stop": stop} as a race of
/// a quadratic model.
Race race_of(std::uint32_t learners, const std::string& protocol, const std::string& stop,
             const std::string& runtime = R"({"distribution": "exponential", "mean": 1})");

/// The example of every protocol's page, for 4 learners or more.
std::vector<std::string> every_server_protocol();
std::vector<std::string> every_peer_protocol();

/// Runs to the end without a model.
RunRecord run_timing(const Race& race, std::uint32_t replica = 0, Observer* observer = nullptr);

/// Runs to the end with the point's model.
RunRecord run_training(const Point& point, std::uint32_t replica = 0, Observer* observer = nullptr);

}  // namespace gradrace
