#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "sim/distribution.h"
#include "sim/large_pages.h"

namespace gradrace {

/// The times of one run's minibatches where they are independent draws of one law: drawn ahead,
/// several of a learner at once.
class DrawnTimes {
 public:
  /// The law must outlive it.
  DrawnTimes(const Distribution& law, std::uint64_t seed, std::uint32_t replica,
             std::uint32_t learners)
      : law_(law), seed_(seed), replica_(replica), ahead_(learners) {}

  /// Of the learner's draw-th minibatch.  Every draw is asked for, in ascending order.
  double time(std::uint32_t learner, std::uint32_t draw) {
    Times& times = ahead_[learner].times;
    const std::size_t place = draw % times.size();
    if (place == 0) draw_ahead(learner, draw);
    return times[place];
  }

  /// Of a minibatch that is not the next one, drawn anew; those that follow are asked for next.
  double again(std::uint32_t learner, std::uint32_t draw) {
    const std::size_t place = draw % StreamsOfDraws::size;
    draw_ahead(learner, draw - static_cast<std::uint32_t>(place));
    return ahead_[learner].times[place];
  }

  /// The learner's next time is going to be asked for.
  void prefetch(std::uint32_t learner) const { __builtin_prefetch(&ahead_[learner]); }

 private:
  [[gnu::noinline]] void draw_ahead(std::uint32_t learner, std::uint32_t draw) {
    law_.draws({seed_, replica_, Purpose::runtime, learner, draw}, ahead_[learner].times);
  }

  using Times = std::array<double, StreamsOfDraws::size>;
  struct alignas(64) Ahead {
    Times times;
  };

  const Distribution& law_;
  const std::uint64_t seed_;
  const std::uint32_t replica_;
  LargeVector<Ahead> ahead_;  // of the learners
};

}  // namespace gradrace
