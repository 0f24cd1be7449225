#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace gradrace {

/// How a device keeps the numbers of a model, where that is not the definition's order: with
/// padding between them, which is 0 and stays so under every optimiser.
class Packing {
 public:
  /// `count` parameters that follow each other, whose places are `step` apart.
  struct Stretch {
    std::size_t place, count, step;
  };

  /// As the definition has them.
  explicit Packing(std::size_t parameters)
      : stretches_{{0, parameters, 1}}, parameters_(parameters), numbers_(parameters) {}
  /// The stretches of all parameters in their order; their places are below `numbers`.
  Packing(std::vector<Stretch> stretches, std::size_t numbers)
      : stretches_(std::move(stretches)), numbers_(numbers) {
    for (const Stretch& stretch : stretches_) parameters_ += stretch.count;
  }

  /// Of the model.
  std::size_t parameters() const { return parameters_; }
  /// Stored, padding included.
  std::size_t numbers() const { return numbers_; }

  /// packed [numbers] from w [parameters], and back.
  template <class Real>
  void pack(const Real* w, Real* packed) const {
    if (numbers_ > parameters_) std::fill_n(packed, numbers_, Real{0});
    for (const auto& [place, count, step] : stretches_)
      for (std::size_t i = 0; i < count; ++i) packed[place + i * step] = *w++;
  }
  template <class Real>
  void unpack(const Real* packed, Real* w) const {
    for (const auto& [place, count, step] : stretches_)
      for (std::size_t i = 0; i < count; ++i) *w++ = packed[place + i * step];
  }

 private:
  std::vector<Stretch> stretches_;
  std::size_t parameters_ = 0, numbers_ = 0;
};

}  // namespace gradrace
