#pragma once

#include <cstddef>
#include <vector>

#include "models/cpu/kernels/convolution_kernels.h"
#include "models/datasets/image_shape.h"
#include "models/sampling/batch.h"

namespace gradrace {

/// The products of a convolution on the CPU: with maps x [channels, height, width], and zeros
/// around them,
///
///     z[o, i, j] = b[o] + sum_{c, k, l} W[o, c, k, l] x[c, stride i + k - padding, stride j + l -
///                  padding].
template <class Real>
class ConvolutionProducts {
 public:
  ConvolutionProducts(const ImageShape& x, const ImageShape& z, std::size_t kernel,
                      std::size_t padding, std::size_t stride);

  /// b [outputs]; null: 0.
  void forward(const Units<Real>& x, const Real* W, const Real* b, Units<Real>& z);
  /// dx from dz.
  void backward(const Units<Real>& dz, const Real* W, Units<Real>& dx);
  /// dW from dz.
  void add_up(const Units<Real>& x, const Units<Real>& dz, Real* dW);

 private:
  static constexpr std::size_t most_outputs = kernels::ConvolutionKernels<Real>::most_outputs;

  /// At least so many.
  Real* scratch(std::size_t numbers);

  const kernels::ConvolutionKernels<Real>& kernels_ = kernels::convolution_kernels<Real>();
  kernels::ConvolutionShape shape_;
  std::vector<kernels::Taps> rows_of_z_, columns_of_z_, rows_of_x_, columns_of_x_;
  std::vector<Real> scratch_;
};

}  // namespace gradrace
