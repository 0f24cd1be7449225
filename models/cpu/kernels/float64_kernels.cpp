#include "models/cpu/kernels/lanes_float64.h"

// The type Lanes comes first.
#include "models/cpu/kernels/convolutions.h"

namespace gradrace::kernels {

template <>
const ConvolutionKernels<double>& convolution_kernels<double>() {
  static constexpr ConvolutionKernels<double> kernels{correlate, weight_sums, map_sums};
  return kernels;
}

}  // namespace gradrace::kernels
