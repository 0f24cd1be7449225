#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/replay/lowering.h"
#include "sim/device.h"

namespace gradrace {

/// A device that computes nothing, and counts what the CPU would hold and compute of the runs.  All
/// its evaluations find nearly the same, so that nothing diverges, and tables compress as others.
class CountedReplay final : public Device {
 public:
  explicit CountedReplay(const Evaluation& found = {1, 1, 1, 0}) : found_(found) {}

  struct Counts {
    std::uint64_t gradients = 0;    // computed
    std::uint64_t evaluations = 0;  // of a value
    std::uint64_t terms = 0;        // of updates, averages and disagreements: values passed through
    std::uint32_t states = 0;       // kept at once, at most: values with what the optimiser keeps
    std::uint32_t kept = 0;         // gradients, likewise
    bool measured = false;          // a disagreement
  };
  const Counts& counts() const { return counts_; }

  std::string name() const override { return "counted"; }
  std::size_t cohort() const override { return 1; }
  void start(std::span<const Tape> tapes) override;
  void replay(std::span<const Segment* const> wave, std::span<Results> results) override;
  std::vector<double> parameters(std::size_t) override { return {}; }

 private:
  struct CountedRun {
    const Tape& tape;
    Lowering lowering;
  };
  void count(const CountedRun& run, const Program& program);
  void vary(Evaluation& of);
  void measure(Evaluation& of);

  const Evaluation found_;
  std::vector<CountedRun> runs_;
  Counts counts_;
  double varied_ = 0;
};

}  // namespace gradrace
