#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <cstddef>

#include "models/gpu/kernel_layer.h"
#include "models/sampling/batch.h"
#include "sim/random.h"

namespace gradrace {

/// y = x W^T + b of n rows at once.  W [outputs, inputs], row-major, then b [outputs] stand in the
/// parameters from `first` on.
struct Dense {
  std::size_t inputs, outputs;
  std::size_t first = 0;

  std::size_t weights() const { return outputs * inputs; }
  std::size_t end() const { return first + weights() + outputs; }

  /// The same for a kernel, followed by f.
  kernels::Layer kernel_layer(kernels::Function f) const {
    return kernel_layer(kernels::LayerKind::dense, {inputs, 1, 1}, {outputs, 1, 1}, f);
  }
  /// One of those with weights, which are these.
  kernels::Layer kernel_layer(kernels::LayerKind kind, const ImageShape& x, const ImageShape& y,
                              kernels::Function f) const {
    kernels::Layer layer = gradrace::kernel_layer(kind, x, y, f);
    layer.first = static_cast<std::uint32_t>(first);
    layer.depth = static_cast<std::uint32_t>(inputs);
    return layer;
  }

  template <class Real>
  Eigen::Map<const RowMajor<Real>> W(const Real* w) const {
    return {w + first, rows(), columns()};
  }

  /// x [n, inputs], y [n, outputs].
  template <class Real, class X>
  void forward(const Real* w, const X& x, Units<Real>& y) const {
    const Eigen::Map<const Eigen::Matrix<Real, 1, Eigen::Dynamic>> b(w + first + weights(), rows());
    RowMajor<Real> product(x.rows(), rows());
    product.noalias() = x * W(w).transpose();
    y = product.rowwise() + b;
  }

  /// The layer's part of g from dy [n, outputs], the derivative by y.
  template <class Real, class X>
  void backward(const X& x, const Units<Real>& dy, Real* g) const {
    Eigen::Map<RowMajor<Real>> dW(g + first, rows(), columns());
    if (weights() <= most_small) {
      dW = RowMajor<Real>(dy.transpose() * x);
    } else {
      dW.noalias() = dy.transpose() * x;
    }
    for (Eigen::Index c = 0; c < rows(); ++c) dW.data()[dW.size() + c] = dy.col(c).sum();
  }

  /// dx [n, inputs], the derivative by x.
  template <class Real>
  void propagate(const Real* w, const Units<Real>& dy, Units<Real>& dx) const {
    dx.resize(dy.rows(), columns());
    dx.noalias() = dy * W(w);
  }

  /// W is N(0, sd^2), one after the other; b is 0.
  template <class Real>
  void initialise(double sd, Stream& words, Real* w) const {
    boost::random::normal_distribution<double> normal(0, sd);
    for (std::size_t i = first; i < first + weights(); ++i) w[i] = static_cast<Real>(normal(words));
    std::fill(w + first + weights(), w + end(), Real{0});
  }

 private:
  /// Eigen adds up the numbers of a small product in an order that depends on where in memory the
  /// result begins; up to this many weights it begins where it always does.
  static constexpr std::size_t most_small = 1024;

  Eigen::Index rows() const { return static_cast<Eigen::Index>(outputs); }
  Eigen::Index columns() const { return static_cast<Eigen::Index>(inputs); }
};

}  // namespace gradrace
