#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/gpu/kernels/replay.h"
#include "models/gpu/mirror.h"
#include "models/replay/lowering.h"

namespace gradrace {

/// The uses of a wave, run by run, and the factors by which distances scale their weights.
template <class Launcher>
class UseList {
 public:
  void start(std::size_t runs) { first_.assign(runs, 0); }
  void clear() { uses_.host.clear(); }

  /// Returns the number of the run's first use; behind these are the gradients that it sends.
  std::uint64_t add(std::uint32_t run, const Program& program) {
    first_[run] = uses_.host.size();
    for (const SlotUse& use : program.uses)
      uses_.host.push_back({use.at, use.learner, use.draw, use.recipe, use.weight});
    for (const SlotUse& sent : program.sent)
      uses_.host.push_back({sent.at, sent.learner, sent.draw, sent.recipe, sent.weight});
    return first_[run];
  }

  /// That use has another weight than the program says.
  void weigh(std::uint64_t use, double weight) { uses_.host[use].weight = weight; }

  /// with_factors: the distance factors will be fetched.
  void send(Launcher& launcher, bool with_factors) {
    with_factors_ = with_factors;
    uses_.send(launcher);
    if (with_factors) reserve(launcher, factors_.device, size());
  }
  void fetch(Launcher& launcher) {
    if (with_factors_) factors_.fetch(launcher, size());
  }

  std::size_t size() const { return uses_.host.size(); }
  bool with_factors() const { return with_factors_; }

  // On the device, of every use; factors: null if they are not fetched.
  const kernels::KernelUse* data() const { return uses_.data(); }
  double* factors() const { return with_factors_ ? factors_.data() : nullptr; }

  /// Those of a run, after a fetch.
  std::span<const double> factors(std::size_t run, const Program& program) const {
    return std::span<const double>(factors_.host).subspan(first_[run], program.uses.size());
  }

 private:
  std::vector<std::uint64_t> first_;  // [run]
  Mirror<kernels::KernelUse, Launcher> uses_;
  Mirror<double, Launcher> factors_;
  bool with_factors_ = false;
};

}  // namespace gradrace
