#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/datasets/dataset.h"
#include "models/layers/dense.h"
#include "models/sampling/batch.h"

namespace gradrace {

/// y = the greatest of each 2 x 2 of the convolution W * x, plus b: with images x [channels,
/// height, width],
///
///     z[o, i, j] = sum_{c, k, l} W[o, c, k, l] x[c, i + k, j + l]      (no padding)
///     y[o, i, j] = max of z[o, 2i + {0, 1}, 2j + {0, 1}] + b[o]
///
/// The first in reading order wins ties; an odd last row or column of z is left out.  An image is a
/// row of Units, its width beside itself.  Parameters: W [outputs, channels, kernel, kernel], then
/// b [outputs].
template <class Real>
class Convolution {
 public:
  /// `first`: where the parameters begin.  std::runtime_error where nothing is left of the images.
  Convolution(const ImageShape& images, std::size_t outputs, std::size_t kernel, std::size_t first);

  /// W as a matrix [outputs, channels kernel^2].
  const Dense& layer() const { return layer_; }
  const ImageShape& output() const { return output_; }
  /// The same for a kernel, followed by f.
  kernels::Layer kernel_layer(kernels::Function f) const;
  std::size_t fan_out() const { return layer_.outputs * kernel_ * kernel_; }

  void forward(const Real* w, const Units<Real>& x, Units<Real>& y);

  /// This layer's part of g from dy, the derivative by y, after the forward pass of the same w and
  /// x.  dx: the derivative by x, where it is wanted.
  void backward(const Real* w, const Units<Real>& x, const Units<Real>& dy, Real* g,
                Units<Real>* dx);

 private:
  /// patches_ = what z's rows 2 i and 2 i + 1 are made of.
  void gather(const Units<Real>& x, std::size_t i);
  void pool(std::size_t i, Units<Real>& y);
  void unpool(std::size_t i, const Units<Real>& dy);
  /// dx += by_patches_, back at their places.
  void scatter(std::size_t i, Units<Real>& dx) const;

  /// Calls copy(column of the patches, row of z, numbers) for each piece of the images that is
  /// beside itself in both: `numbers` points at its place in the images [n, width of z].
  template <class Images, class Copy>
  void each_piece(Images* images, std::size_t i, const Copy& copy) const;

  ImageShape images_, output_;
  std::size_t kernel_, width_;  // width_: of z
  Dense layer_;

  // For two rows of z: pixel by pixel, and n numbers of each.
  std::size_t n_ = 0;
  Units<Real> patches_, by_patches_;  // [2 width n, channels kernel^2]
  Units<Real> z_, dz_;                // [2 width n, outputs]
  RowMajor<Real> dW_;
  std::vector<std::uint8_t> winners_;  // as y: which of the four was the greatest
};

}  // namespace gradrace
