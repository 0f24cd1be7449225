#include "models/cpu/kernels/lanes.h"

namespace gradrace::kernels {
namespace {

struct Float64 : PlainRegisters<double, 2> {
  static constexpr int lanes_of_tile = 1, maps_of_tile = 2, sums_held = 3;
};
using Lanes = LanesOf<Float64>;

}  // namespace
}  // namespace gradrace::kernels

// The type Lanes comes first.
#include "models/cpu/kernels/convolutions.h"

namespace gradrace::kernels {

template <>
const ConvolutionKernels<double>& convolution_kernels<double>() {
  static constexpr ConvolutionKernels<double> kernels{correlate, weight_sums, map_sums};
  return kernels;
}

}  // namespace gradrace::kernels
