#pragma once

#include <cstddef>
#include <cstdint>

#include "models/gpu/kernels/replay.h"
#include "models/gpu/staged.h"

namespace gradrace {

/// The stretches of a wave: how a run moves its states in each of its stages.
template <class Launcher>
class Stretches : public Staged<kernels::Stretch, Launcher> {
 public:
  /// Those of a run come next, whose first step has that number.
  void start(std::uint32_t run, std::uint64_t first_use, std::uint64_t step) {
    next_ = {run, first_use, step, 0}, stage_ = 0;
  }

  /// A stage of the run ends before that step; one without steps has no stretch.
  void end_stage(std::uint64_t step) {
    next_.count = step - next_.first;
    if (next_.count > 0) this->add(stage_, next_);
    next_.first = step, ++stage_;
  }

 private:
  kernels::Stretch next_{};
  std::size_t stage_ = 0;
};

}  // namespace gradrace
