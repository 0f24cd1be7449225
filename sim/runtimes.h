#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace gradrace {

/// The times of one run's minibatches, where they are more than independent draws of one law.
class Runtimes {
 public:
  virtual ~Runtimes() = default;

  /// Time that `learner` takes for its draw-th minibatch of `samples`, begun at `begin`.  Called at
  /// most once for each draw, in ascending order of a learner's draws; draws may be missing
  /// (cancelled before they began).
  virtual double duration(std::uint32_t learner, std::uint32_t draw, double begin,
                          std::uint32_t samples) = 0;
};

/// Makes those of one run.
using MakeRuntimes =
    std::function<std::unique_ptr<Runtimes>(std::uint64_t seed, std::uint32_t replica)>;

}  // namespace gradrace
