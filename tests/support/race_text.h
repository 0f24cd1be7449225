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

/// The example of every protocol's page, for 4 learners or more; but for cocoa, which trains svm
/// alone.
std::vector<std::string> every_server_protocol();
std::vector<std::string> every_peer_protocol();

/// What is kept of a run, and its whole curve.
struct RaceRecord : RunRecord {
  std::vector<CurvePoint> curve;
  std::vector<Evaluation> of_learners;  // [place in the curve * P + learner], if each is asked for
};

/// A run that is to begin.
struct Starter {
  const Race& race;
  std::uint32_t replica = 0;
  std::uint32_t segment_limit = TimingPlane::default_limit;
  Observer* observer = nullptr;
};

/// Runs them to the end, side by side; without a device timing-only.
std::vector<RaceRecord> run_races(const std::vector<Starter>& starters, Device* device);
RaceRecord run_race(const Starter& starter, Device* device);

/// Runs to the end without a model.
RaceRecord run_timing(const Race& race, std::uint32_t replica = 0, Observer* observer = nullptr);

/// Runs to the end with the point's model.
RaceRecord run_training(const Point& point, std::uint32_t replica = 0,
                        Observer* observer = nullptr);

}  // namespace gradrace
