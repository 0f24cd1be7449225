#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// Convolutions without patches, of maps [channels, pixels, n].
///
/// The n images are the lanes, and a weight multiplies all of them.  A number of a map is one chain
/// of fused multiply-adds over channels and taps, from the bias or from 0.  The
/// gradient of a weight is 16 chains over the pixels in their order, one for the images with the
/// same number mod 16, and then a tree over the chains; the sum of a map likewise, one chain for
/// its numbers with the same place mod 16.  So the bits do not depend on
/// the instruction set, and a number of a map not on the other images either.
namespace gradrace::kernels {

/// Which weights of a kernel meet which pixels along one direction: weight `first` and every
/// step-th after it meet pixel `source` and those beside it in that direction (1 or -1).
struct Taps {
  std::uint32_t first, step, count;
  std::int32_t source, direction;
};

/// A convolution that makes z [outputs, out_height, out_width] of x [channels, height, width]:
/// pixel i of z sees pixel stride i + k - padding of x through weight k.
struct ConvolutionShape {
  std::size_t channels, height, width, outputs, out_height, out_width, kernel, padding, stride;

  std::size_t area() const { return kernel * kernel; }
  std::size_t weights() const { return outputs * channels * area(); }
};

/// Through which pixel i of z sees x, which has so many pixels in that direction.
Taps taps_of_output(const ConvolutionShape& shape, std::size_t i, std::size_t pixels_of_x);
/// Through which pixel u of x is seen by z.
Taps taps_of_input(const ConvolutionShape& shape, std::size_t u, std::size_t pixels_of_z);

/// y [outputs, rows, columns, n] = sum over channels and taps of w x, from b or from 0.
template <class Real>
struct Correlation {
  const Real* x;  // [channels, height, width, n]
  std::size_t n, channels, height, width, kernel;
  std::span<const Taps> rows, columns;
  const Real* w;  // the weights of output o and channel c from o of_output + c of_channel on
  std::size_t of_output, of_channel;
  const Real* b;  // [outputs], or null
  std::size_t outputs;
};

template <class Real>
struct ConvolutionKernels {
  /// scratch [most_outputs channels kernel^2].
  void (*correlate)(const Correlation<Real>& c, Real* y, Real* scratch);
  static constexpr std::size_t most_outputs = 8;

  /// dW [outputs, channels, kernel, kernel] = sum over pixels and images of dz x.  scratch [16
  /// weights].
  void (*weight_sums)(const ConvolutionShape& shape, std::size_t n, const Real* x, const Real* dz,
                      Real* dW, Real* scratch);

  /// sums [count] of maps of so many numbers.
  void (*map_sums)(const Real* maps, std::size_t count, std::size_t numbers, Real* sums);
};

/// Of chosen_kernels(); float64 has one for all machines.
template <class Real>
const ConvolutionKernels<Real>& convolution_kernels();

}  // namespace gradrace::kernels
