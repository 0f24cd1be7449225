#pragma once

#include <cstddef>

#include "models/datasets/dataset.h"
#include "models/layers/dense.h"
#include "models/sampling/batch.h"

namespace gradrace {

/// y = W * x + b with zeros around the images: with images x [channels, height, width],
///
///     y[o, i, j] = b[o] + sum_{c, k, l} W[o, c, k, l] x[c, stride i + k - padding, stride j + l -
///                  padding]
///
/// An image is a row of Units, its width beside itself.  Parameters: W [outputs, channels, kernel,
/// kernel], then b [outputs], unless it is left to the layer that follows.
template <class Real>
class PaddedConvolution {
 public:
  struct Shape {
    std::size_t outputs, kernel, padding, stride = 1;
    bool bias = true;
  };

  /// `first`: where the parameters begin.
  PaddedConvolution(const ImageShape& images, const Shape& shape, std::size_t first);

  /// W as a matrix [outputs, channels kernel^2].
  const Dense& layer() const { return layer_; }
  const ImageShape& output() const { return output_; }
  /// The same for a kernel, followed by f.
  kernels::Layer kernel_layer(kernels::Function f) const;

  void forward(const Real* w, const Units<Real>& x, Units<Real>& y);

  /// This layer's part of g from dy, the derivative by y.  dx: the derivative by x, where it is
  /// wanted.
  void backward(const Real* w, const Units<Real>& x, const Units<Real>& dy, Real* g,
                Units<Real>* dx);

 private:
  /// patches_ = what row i of y is made of.
  void gather(const Units<Real>& x, std::size_t i);
  /// dx += by_patches_, back at their places.
  void scatter(std::size_t i, Units<Real>& dx) const;

  /// Calls use(column, begin, end, pixel) for each column of the patches of row i: its pixels
  /// begin to end - 1 are the images' `pixel`, `pixel` + stride, ..., the others zeros.
  template <class Use>
  void each_column(std::size_t i, const Use& use) const;

  /// Numbers of a row of y, and of a channel.
  std::size_t row() const { return output_.width * n_; }
  std::size_t channel() const { return output_.height * row(); }

  ImageShape images_, output_;
  Shape shape_;
  Dense layer_;
  std::size_t n_ = 0;
  Units<Real> patches_, by_patches_;  // [width of y n, channels kernel^2]
  RowMajor<Real> dW_;
};

}  // namespace gradrace
