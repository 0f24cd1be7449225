#pragma once

#include <cstdint>
#include <vector>

#include "sim/reading/fields.h"

namespace gradrace {

/// Finds the learners that are slow for a while, each by its own time of computing.
///
/// A learner's throughput is that of its last window of minibatches; one window follows another.  A
/// window is slow if its throughput is below mean - deviations * sd of the last windows of all
/// learners (sd with 1/P), and below floor * mean.  So many slow windows in a row make a straggler;
/// so many in a row that are not make it an ordinary learner again.
///
/// Of P learners with one common throughput but s slow ones, these are (P - s)/s to the power 1/2
/// sd below the mean: at one deviation half of the learners or more are never stragglers.
///
/// Of 8 equal learners whose normal times have sd 0.12 mean, 3 windows of 5 make a straggler of one
/// by chance once in 1,160 minibatches without a floor, in 2,300 at a floor of 0.95, in 1,000,000
/// at 0.9 (40,000,000 minibatches).
class StragglerDetector {
 public:
  struct Config {
    std::uint32_t window = 5, windows = 3;
    double deviations = 1, floor = 0.9;
  };
  static void visit(Fields& fields, Config& config);

  StragglerDetector(const Config& config, std::uint32_t learners)
      : config_(config), learners_(learners) {}

  /// The learner has computed a minibatch, for so long.
  void saw(std::uint32_t learner, double time);

  bool is_straggler(std::uint32_t learner) const { return learners_[learner].is_straggler; }
  bool any() const { return stragglers_ > 0; }

 private:
  struct Learner {
    double time = 0;  // of the minibatches of the window under way
    std::uint32_t minibatches = 0;
    double throughput = 0;      // of the window before; 0: there is none
    std::uint32_t against = 0;  // windows in a row that speak against what it is held for
    bool is_straggler = false;
  };

  bool is_slow(double throughput) const;

  Config config_;
  std::vector<Learner> learners_;
  std::uint32_t stragglers_ = 0;
  std::uint32_t known_ = 0;          // learners with a throughput
  double sum_ = 0, square_sum_ = 0;  // of throughputs
};

}  // namespace gradrace
