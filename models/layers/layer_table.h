#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "models/layers/batch_normalisation.h"
#include "models/layers/convolution_steps.h"
#include "models/layers/dense.h"
#include "models/layers/group_normalisation.h"
#include "models/layers/pixel_mean.h"
#include "models/layers/pooling.h"
#include "models/layers/response_normalisation.h"
#include "models/layers/shortcut.h"
#include "sim/check.h"

namespace gradrace::kernels {

/// Every kind of layer; a LayerKind is a place in it.
using LayerTable = std::tuple<DenseSteps, ConvolutionSteps, GreatestPoolingSteps, MeanPoolingSteps,
                              ResponseNormalisationSteps, BatchNormalisationSteps,
                              GroupNormalisationSteps, ShortcutSteps, PixelMeanSteps>;

/// The place of Steps in the table.
template <class Steps>
constexpr LayerKind kind_of = []<class... All>(std::type_identity<std::tuple<All...>>) {
  static_assert((std::is_same_v<Steps, All> + ...) == 1, "a kind stands in LayerTable once");
  std::uint8_t place = 0;
  (void)((std::is_same_v<Steps, All> || (++place, false)) || ...);
  return LayerKind{place};
}(std::type_identity<LayerTable>{});

/// Calls use with the steps of that kind.
template <class Use>
void with_steps(LayerKind kind, const Use& use) {
  const bool found = std::apply(
      [&](auto... steps) {
        return ((kind_of<decltype(steps)> == kind && (use(steps), true)) || ...);
      },
      LayerTable{});
  GRADRACE_CHECK(found, "every kind of layer is in the table");
}

}  // namespace gradrace::kernels

namespace gradrace {

/// The fields that every kind has, of a layer with those steps.
template <class Steps>
kernels::Layer kernel_layer(const ImageShape& x, const ImageShape& y) {
  return {.kind = kernels::kind_of<Steps>,
          .channels = static_cast<std::uint32_t>(x.channels),
          .height = static_cast<std::uint32_t>(x.height),
          .width = static_cast<std::uint32_t>(x.width),
          .outputs = static_cast<std::uint32_t>(y.channels),
          .out_height = static_cast<std::uint32_t>(y.height),
          .out_width = static_cast<std::uint32_t>(y.width)};
}

}  // namespace gradrace
