#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/cli/scenario/cluster.h"
#include "sim/engine/timing_plane.h"

namespace gradrace {

/// A replay of measured times that ran out in a run and started again: of the learner that went
/// furthest.
struct RanOut {
  std::string file;
  std::uint64_t learner = 0, draws = 0, times = 1;

  bool went_further_than(const RanOut& other) const {
    return draws * other.times > other.draws * times;
  }
};

/// Of one run, one for each file.
std::vector<RanOut> replays_that_ran_out(const Cluster& cluster,
                                         const std::vector<LearnerTotals>& learners);

/// Tells of them over the runs of a scenario.
class MeasuredNotes {
 public:
  void add(const std::vector<RanOut>& of_run);

  /// "replay of /data/times.csv ran out in 2 runs and started again: learner 3 made 512 draws of
  /// 300 measured times"; one for each file.
  std::vector<std::string> texts() const;

 private:
  struct OfFile {
    std::size_t runs = 0;
    RanOut furthest;
  };
  std::map<std::string, OfFile> files_;  // [file]
};

}  // namespace gradrace
