#pragma once

#include <cstddef>
#include <vector>

#include "models/gpu/kernels/replay.h"
#include "models/gpu/mirror.h"
#include "models/replay/lowering.h"

namespace gradrace {

/// The values of a cohort in a device's memory: slots for every run, page by page.
template <class Real, class Launcher>
class ValuePages {
 public:
  static constexpr std::size_t page_slots = kernels::Values<Real>::page_slots;

  /// Room for the values 0 of so many runs, each of `stride` numbers.
  void start(Launcher& launcher, std::size_t runs, std::size_t stride) {
    if (stride != stride_ || runs != runs_) pages_.clear();
    stride_ = stride, runs_ = runs;
    grow(launcher, 1);
  }

  void grow(Launcher& launcher, Slot slots) {
    while (pages_.size() * page_slots < slots) {
      pages_.emplace_back(runs_ * page_slots * stride_);
      table_.host.clear();
      for (const auto& page : pages_) table_.host.push_back(page.data());
      table_.send(launcher);
    }
  }

  Real* place(std::size_t run, Slot slot) const {
    return pages_[slot / page_slots].data() + (run * page_slots + slot % page_slots) * stride_;
  }

  kernels::Values<Real> view(std::size_t parameters, std::size_t learnt) const {
    return {table_.data(), stride_, static_cast<std::uint32_t>(parameters),
            static_cast<std::uint32_t>(learnt)};
  }

 private:
  std::size_t stride_ = 0, runs_ = 0;
  std::vector<typename Launcher::template Memory<Real>> pages_;
  Mirror<Real*, Launcher> table_;
};

}  // namespace gradrace
