#pragma once

#include <tuple>
#include <type_traits>

#include "models/layers/batch_normalisation.h"
#include "models/layers/convolution.h"
#include "models/layers/dense.h"
#include "models/layers/group_normalisation.h"
#include "models/layers/padded_convolution.h"
#include "models/layers/pixel_mean.h"
#include "models/layers/pooling.h"
#include "models/layers/response_normalisation.h"
#include "models/layers/shortcut.h"

namespace gradrace::kernels {

/// Every kind of layer; a LayerKind is a place in it.
using LayerTable =
    std::tuple<DenseSteps, PooledConvolutionSteps, PaddedConvolutionSteps, GreatestPoolingSteps,
               MeanPoolingSteps, ResponseNormalisationSteps, BatchNormalisationSteps,
               GroupNormalisationSteps, ShortcutSteps, PixelMeanSteps>;

/// Calls use(kind, steps) for each kind.
template <class Use>
constexpr void each_kind(const Use& use) {
  std::apply([&, kind = 0](auto... steps) mutable { (use(LayerKind(kind++), steps), ...); },
             LayerTable{});
}

template <class Steps>
constexpr LayerKind kind_of = [] {
  LayerKind found{};
  each_kind([&]<class Other>(LayerKind kind, Other) {
    if constexpr (std::is_same_v<Other, Steps>) found = kind;
  });
  return found;
}();

/// Calls use with the steps of that kind.
template <class Use>
void with_steps(LayerKind kind, const Use& use) {
  each_kind([&](LayerKind other, auto steps) {
    if (other == kind) use(steps);
  });
}

}  // namespace gradrace::kernels
