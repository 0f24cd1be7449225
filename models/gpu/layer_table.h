#pragma once

#include <tuple>

#include "models/layers/kernels/batch_normalisation.h"
#include "models/layers/kernels/convolution.h"
#include "models/layers/kernels/dense.h"
#include "models/layers/kernels/group_normalisation.h"
#include "models/layers/kernels/padded_convolution.h"
#include "models/layers/kernels/pixel_mean.h"
#include "models/layers/kernels/pooling.h"
#include "models/layers/kernels/response_normalisation.h"
#include "models/layers/kernels/shortcut.h"
#include "sim/check.h"

namespace gradrace::kernels {

/// Every kind of layer.
using LayerTable =
    std::tuple<DenseSteps, PooledConvolutionSteps, PaddedConvolutionSteps, GreatestPoolingSteps,
               MeanPoolingSteps, ResponseNormalisationSteps, BatchNormalisationSteps,
               GroupNormalisationSteps, ShortcutSteps, PixelMeanSteps>;

/// Calls use with the steps of that kind.
template <class Use>
void with_steps(LayerKind kind, const Use& use) {
  const bool found =
      std::apply([&](auto... steps) { return ((steps.kind == kind && (use(steps), true)) || ...); },
                 LayerTable{});
  GRADRACE_CHECK(found, "every kind of layer is in the table");
}

}  // namespace gradrace::kernels
