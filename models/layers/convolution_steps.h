#pragma once

#include <algorithm>
#include <type_traits>

#include "models/gpu/kernels/channels.h"
#include "models/gpu/kernels/convolution_tf32.h"
#include "models/layers/steps.h"

namespace gradrace::kernels {

/// b's part of g: the sums of dz, which of the four that a layer pools only the greatest has.
struct BiasSums {
  static constexpr std::uint32_t count = 1;

  template <class Real>
  struct At {
    const LayerAt<Real>& at;
    std::uint32_t channel;

    GRADRACE_HD At(const LayerAt<Real>& layer_at, std::uint32_t of_channel)
        : at(layer_at), channel(of_channel) {}

    template <std::uint32_t together>
    GRADRACE_HD void add(std::uint32_t number, double (&sums)[count]) const {
      Real by_y[together];
      read<together, together>(at.by_y + number, by_y);
      for (const Real d : by_y) sums[0] += static_cast<double>(d);
    }
    GRADRACE_HD void store(const double (&sums)[count]) const {
      at.g[at.layer.first + at.layer.weights() + channel] = static_cast<Real>(sums[0]);
    }
  };
};

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
                           : with.template operator()<5, 1, 2>();
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
    std::uint64_t numbers = channel_part_numbers<Real>(layer, n, BiasSums::count);
    Pass<Real> pass{};
    pass.n = n;
    for (const bool tf32x3 : {false, true}) {
      pass.network.tf32x3 = tf32x3;
      with_weight_parts(pass, layer, [&](const auto& kernel) {
        numbers = std::max(numbers, std::uint64_t{kernel.parts()} * layer.weights());
      });
    }
    return numbers;
  }

  template <class Jobs>
  static void forward(const Jobs& jobs, bool) {
    with_convolution<Way::forward>(jobs.pass, jobs.layer,
                                   [&](const auto& kernel) { jobs.launch(kernel); });
  }
  template <class Jobs>
  static void backward(const Jobs& jobs) {
    if (jobs.layer.bias) jobs.template add_up_channels<BiasSums>();
    with_weight_parts(jobs.pass, jobs.layer, [&](const auto& kernel) {
      jobs.launch(kernel);
      jobs.launch(AddPartsKernel{jobs.pass, jobs.layer, kernel.parts()});
    });
    if (jobs.number == 0) return;
    with_convolution<Way::back>(jobs.pass, jobs.layer,
                                [&](const auto& kernel) { jobs.launch(kernel); });
  }
};

}  // namespace gradrace::kernels
