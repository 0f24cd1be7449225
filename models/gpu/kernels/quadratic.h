#pragma once

#include "models/gpu/kernels/network.h"
#include "models/gpu/kernels/normal.h"

namespace gradrace::kernels {

/// The model quadratic.  Its noise is drawn by one thread: how many words a number takes depends on
/// the words.
template <class Real>
struct Quadratic {
  using Number = Real;

  std::uint32_t parameters;
  const double* curvatures;  // [length]
  std::uint32_t length;
  double noise;
  const Ziggurat* ziggurat;

  static constexpr std::uint32_t threads = 32, at_once = 1;
  static std::size_t shared_numbers() { return scratch_numbers; }

  static std::uint64_t work() { return 0; }

  template <class Block>
  GRADRACE_HD void gradient(const Block& block, const Real* w, const MinibatchName& name,
                            Real* g) const {
    each(block, parameters,
         [&](std::uint32_t i) { g[i] = static_cast<Real>(curvatures[i % length]) * w[i]; });
    block.sync();
    if (noise > 0 && block.thread() == 0) add_noise(name, g);
    block.sync();
  }

  GRADRACE_HD static std::uint32_t parts() { return 1; }

  template <class Block>
  GRADRACE_HD void evaluate(const Block& block, const Real* w, std::uint32_t, Real*,
                            EvaluationPart* result) const {
    const double total = sum(block, parameters, [&](std::uint32_t i) {
      return curvatures[i % length] * static_cast<double>(w[i]) * static_cast<double>(w[i]);
    });
    if (block.thread() == 0) *result = {total / 2, 0};
  }

  template <class Block>
  GRADRACE_HD EvaluationSums add_up(const Block&, const EvaluationPart* parts) const {
    return {parts->loss, 0, 0, 0};
  }

 private:
  GRADRACE_HD void add_noise(const MinibatchName& name, Real* g) const {
    Normal normal(*ziggurat,
                  {name.seed, name.replica, Purpose::gradient_noise, name.learner, name.draw});
    const double sd =
        noise / std::sqrt(static_cast<double>(name.size) * static_cast<double>(parameters));
    for (std::uint32_t i = 0; i < parameters; ++i) g[i] += static_cast<Real>(normal.next() * sd);
  }
};

}  // namespace gradrace::kernels
