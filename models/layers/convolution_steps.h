#pragma once

#include <algorithm>
#include <type_traits>

#include "models/gpu/kernels/convolution_tf32.h"
#include "models/gpu/kernels/narrow_convolution.h"
#include "models/layers/base/steps.h"

namespace gradrace::kernels {

/// Whether such a layer is multiplied by parts of TF32: tiles of 16 x 8 are not for a few maps.
template <class Real>
bool by_tf32(const Pass<Real>& pass, const Layer& layer, std::uint32_t inputs,
             std::uint32_t outputs) {
  return pass.network.tf32x3 && layer.stride == 1 && inputs > 4 && outputs > 8;
}

/// Calls use with the kernel of that way of a layer: of more than 16 maps there are threads enough
/// for four each.
template <Way way, class Real, class Use>
void with_convolution(const Pass<Real>& pass, const Layer& layer, const Use& use) {
  const WayShape shape(layer, way, 0);
  const auto up_to = [&](std::uint32_t most) { return shape.outputs > 4 && shape.outputs <= most; };
  const auto with = [&]<std::uint32_t kernel, std::uint32_t stride, std::uint32_t across>() {
    if constexpr (stride == 1 && std::is_same_v<Real, float>) {
      if (by_tf32(pass, layer, shape.inputs, shape.outputs))
        return use(MatrixConvolutionKernel<kernel, way>(pass, layer));
    }
    if constexpr (kernel == 5 && way == Way::back) {
      if (NarrowBackKernel<Real>::takes(layer, pass.n))
        return use(NarrowBackKernel<Real>(pass, layer));
    }
    use(ConvolutionKernel<Real, WindowTaps<kernel, stride, way>, across>(pass, layer));
  };
  if (layer.kernel == 3 && layer.stride == 1)
    up_to(16) ? with.template operator()<3, 1, 8>() : with.template operator()<3, 1, 4>();
  else if (layer.kernel == 3 && layer.stride == 2)
    with.template operator()<3, 2, way == Way::forward ? 4 : 8>();
  else if (layer.kernel == 5 && layer.stride == 1)
    up_to(6) ? with.template operator()<5, 1, 6>() : with.template operator()<5, 1, 4>();
  else
    use(AnyConvolutionKernel<Real, way>(pass, layer));
}

/// Calls use with the kernel that makes the parts of a layer's dW.
template <class Real, class Use>
void with_weight_parts(const Pass<Real>& pass, const Layer& layer, const Use& use) {
  const auto with = [&]<std::uint32_t kernel, std::uint32_t stride, std::uint32_t outputs>() {
    if constexpr (stride == 1 && std::is_same_v<Real, float>) {
      if (by_tf32(pass, layer, layer.channels, layer.outputs))
        return use(WeightPartsKernel<CrewWeights<kernel>>(pass, layer));
    }
    use(WeightPartsKernel<ThreadWeights<Real, kernel, stride, outputs>>(pass, layer));
  };
  if (layer.kernel == 3 && layer.stride == 1)
    with.template operator()<3, 1, 4>();
  else if (layer.kernel == 3 && layer.stride == 2)
    with.template operator()<3, 2, 4>();
  else if (layer.kernel == 5 && layer.stride == 1)
    layer.outputs % 4 == 0 ? with.template operator()<5, 1, 4>()
                           : with.template operator()<5, 1, 6>();
  else
    use(AnyWeightPartsKernel<Real>(pass, layer));
}

/// Of convolutions of every shape, whether they pool or not.
///
/// Memory traffic at least, beside W: x read and y written, of a layer that pools the winners too;
/// on the way back dz and winners read for dW and for dx, x read for dW and for the slope, dx
/// written, the parts of dW written and read.
struct ConvolutionSteps {
  static std::uint32_t kept(const Layer& layer) { return layer.pools ? layer.units() : 0; }

  template <class Real>
  static std::uint64_t parts(const Layer& layer, std::uint32_t n) {
    std::uint64_t numbers = 0;
    Pass<Real> pass{};
    pass.n = n;
    for (const bool tf32x3 : {false, true}) {
      pass.network.tf32x3 = tf32x3;
      with_weight_parts(pass, layer, [&](const auto& kernel) {
        numbers = std::max(numbers, std::uint64_t{kernel.parts()} * layer.learnt());
      });
    }
    return numbers;
  }

  template <class Jobs>
  static void forward(const Jobs& jobs, bool) {
    with_convolution<Way::forward>(jobs.pass, jobs.layer,
                                   [&](const auto& kernel) { jobs.launch(kernel); });
  }
  /// dx first: the state that moves may stand where W is.
  template <class Jobs>
  static void backward(const Jobs& jobs) {
    if (jobs.number > 0)
      with_convolution<Way::back>(jobs.pass, jobs.layer,
                                  [&](const auto& kernel) { jobs.launch(kernel); });
    with_weight_parts(jobs.pass, jobs.layer, [&](const auto& kernel) {
      jobs.launch(kernel);
      jobs.launch(AddPartsKernel{jobs.pass, jobs.layer, kernel.parts(), jobs.moves});
    });
  }
};

}  // namespace gradrace::kernels
