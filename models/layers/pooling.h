#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/datasets/dataset.h"
#include "models/layers/kernels/layer.h"
#include "models/sampling/batch.h"

namespace gradrace {

enum class Pool { greatest, mean };

/// y[c, i, j] = the greatest, or the mean, of what there is of x[c, 2i ... 2i + 2, 2j ... 2j + 2].
/// As in Caffe the last window may reach over the edge, so that of a length of n there are
/// ceil((n - 3) / 2) + 1; a mean divides by the pixels that there are.  Of equal numbers the first
/// in reading order is the greatest.
///
/// An image is a row of Units, its width beside itself.
template <class Real>
class Pooling {
 public:
  static constexpr std::size_t width = 3, step = 2;

  /// std::runtime_error where nothing is left of the images.
  Pooling(Pool kind, const ImageShape& images);

  const ImageShape& output() const { return output_; }
  /// The same for a kernel, followed by f.
  kernels::Layer kernel_layer(kernels::Function f) const;

  void forward(const Units<Real>& x, Units<Real>& y);

  /// dx from dy, after the forward pass of x.
  void backward(const Units<Real>& dy, Units<Real>& dx) const;

 private:
  /// Calls use(number of y, numbers of x, how many of them) for each window; a number stands for
  /// all rows.
  template <class Use>
  void each_window(const Use& use) const;

  Pool kind_;
  ImageShape images_, output_;
  std::vector<std::uint8_t> winners_;  // as y: which of the window's pixels was the greatest
};

}  // namespace gradrace
