#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "models/optimiser/number_run.h"

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

  /// Where the numbers of each range of the parameters are: ranges follow each other in their order
  /// and have these shares, to the nearest number.  Padding belongs to what precedes it.
  std::vector<std::vector<NumberRun>> ranges(std::span<const double> shares) const {
    if (shares.empty()) return {};
    std::vector<std::uint32_t> of_parameters(parameters_), of_numbers(numbers_);
    double share = 0;
    std::size_t next = 0;
    for (std::uint32_t range = 0; range < shares.size(); ++range) {
      share += shares[range];
      const bool last = range + 1 == shares.size();
      const auto end =
          last ? parameters_
               : static_cast<std::size_t>(std::llround(share * static_cast<double>(parameters_)));
      for (; next < end; ++next) of_parameters[next] = range + 1;
    }
    pack(of_parameters.data(), of_numbers.data());
    std::vector<std::vector<NumberRun>> ranges(shares.size());
    std::uint32_t range = 1;
    for (std::uint32_t j = 0; j < numbers_; ++j) {
      if (of_numbers[j] > 0) range = of_numbers[j];
      std::vector<NumberRun>& runs = ranges[range - 1];
      if (runs.empty() || runs.back().last < j) runs.push_back({j, j});
      runs.back().last = j + 1;
    }
    return ranges;
  }

 private:
  std::vector<Stretch> stretches_;
  std::size_t parameters_ = 0, numbers_ = 0;
};

}  // namespace gradrace
