#pragma once

#include <cstddef>

#include "models/datasets/dataset.h"
#include "models/layers/kernels/response_normalisation.h"
#include "models/sampling/batch.h"

namespace gradrace {

/// Local response normalisation within each channel:
///
///     y[c, i, j] = x[c, i, j] s^-beta,  s = 1 + alpha / 9 sum of x[c, i - 1 ... i + 1, j - 1 ... j
///                  + 1]^2
///
/// over what there is of those pixels (always divided by 9), alpha = 5e-5, beta = 3/4.  Source:
/// Krizhevsky, cuda-convnet, 2011; Caffe's layer LRN with WITHIN_CHANNEL, local_size 3, and the
/// constants of its CIFAR-10 examples.
///
/// An image is a row of Units, its width beside itself.
template <class Real>
class ResponseNormalisation {
 public:
  static constexpr double alpha = kernels::response_alpha, beta = kernels::response_beta;

  explicit ResponseNormalisation(const ImageShape& images) : images_(images) {}

  /// The same for a kernel.
  kernels::Layer kernel_layer() const;

  void forward(const Units<Real>& x, Units<Real>& y);

  /// dx from dy, after the forward pass of x.
  void backward(const Units<Real>& x, const Units<Real>& dy, Units<Real>& dx);

 private:
  /// sums = those of the 3 x 3 around each pixel of q.
  void sum_around(const Units<Real>& q, Units<Real>& sums) const;

  ImageShape images_;
  Units<Real> s_, power_, terms_, sums_;  // as x; power_ = s^-beta
};

}  // namespace gradrace
