#include "models/layers/padded_convolution.h"

#include <algorithm>

#include "sim/check.h"

namespace gradrace {

static std::size_t convolved(std::size_t length, std::size_t kernel, std::size_t padding,
                             std::size_t stride) {
  GRADRACE_CHECK(length + 2 * padding >= kernel, "a kernel finds room in the padded image");
  return (length + 2 * padding - kernel) / stride + 1;
}

template <class Real>
PaddedConvolution<Real>::PaddedConvolution(const ImageShape& images, const Shape& shape,
                                           std::size_t first)
    : images_(images),
      output_{shape.outputs, convolved(images.height, shape.kernel, shape.padding, shape.stride),
              convolved(images.width, shape.kernel, shape.padding, shape.stride)},
      shape_(shape),
      layer_{images.channels * shape.kernel * shape.kernel, shape.outputs, first} {}

template <class Real>
kernels::Layer PaddedConvolution<Real>::kernel_layer(kernels::Function f) const {
  auto layer = layer_.kernel_layer(kernels::LayerKind::padded_convolution, images_, output_, f);
  layer.bias = shape_.bias;
  layer.kernel = static_cast<std::uint32_t>(shape_.kernel);
  layer.padding = static_cast<std::uint32_t>(shape_.padding);
  layer.stride = static_cast<std::uint32_t>(shape_.stride);
  return layer;
}

/// Row i of every channel: [width n, channels].
template <class Images>
using ChannelRows = Eigen::Map<Images, 0, Eigen::OuterStride<>>;

template <class Real>
void PaddedConvolution<Real>::forward(const Real* w, const Units<Real>& x, Units<Real>& y) {
  n_ = static_cast<std::size_t>(x.rows());
  const auto outputs = static_cast<Eigen::Index>(layer_.outputs);
  y.resize(x.rows(), outputs * static_cast<Eigen::Index>(output_.height * output_.width));
  const Eigen::OuterStride<> stride(static_cast<Eigen::Index>(channel()));
  for (std::size_t i = 0; i < output_.height; ++i) {
    gather(x, i);
    ChannelRows<Units<Real>>(y.data() + i * row(), static_cast<Eigen::Index>(row()), outputs,
                             stride)
        .noalias() = patches_ * layer_.W(w).transpose();
  }
  if (!shape_.bias) return;
  const Real* const b = w + layer_.first + layer_.weights();
  Eigen::Map<Units<Real>> channels(y.data(), static_cast<Eigen::Index>(channel()), outputs);
  for (Eigen::Index o = 0; o < outputs; ++o) channels.col(o).array() += b[o];
}

template <class Real>
void PaddedConvolution<Real>::backward(const Real* w, const Units<Real>& x, const Units<Real>& dy,
                                       Real* g, Units<Real>* dx) {
  n_ = static_cast<std::size_t>(x.rows());
  const auto W = layer_.W(w);
  const Eigen::OuterStride<> stride(static_cast<Eigen::Index>(channel()));
  dW_.setZero(W.rows(), W.cols());
  if (dx != nullptr) dx->setZero(x.rows(), x.cols());
  for (std::size_t i = 0; i < output_.height; ++i) {
    gather(x, i);
    const ChannelRows<const Units<Real>> dy_i(dy.data() + i * row(),
                                              static_cast<Eigen::Index>(row()), W.rows(), stride);
    dW_.noalias() += dy_i.transpose() * patches_;
    if (dx == nullptr) continue;
    by_patches_.noalias() = dy_i * W;
    scatter(i, *dx);
  }
  Real* const db = std::copy_n(dW_.data(), layer_.weights(), g + layer_.first);
  if (!shape_.bias) return;
  const Eigen::Map<const Units<Real>> channels(dy.data(), static_cast<Eigen::Index>(channel()),
                                               W.rows());
  for (Eigen::Index o = 0; o < W.rows(); ++o) db[o] = channels.col(o).sum();
}

template <class Real>
template <class Use>
void PaddedConvolution<Real>::each_column(std::size_t i, const Use& use) const {
  const auto [outputs, kernel, padding, stride, bias] = shape_;
  Eigen::Index column = 0;
  for (std::size_t c = 0; c < images_.channels; ++c) {
    for (std::size_t k = 0; k < kernel; ++k) {
      const std::size_t row = stride * i + k;  // of the padded images
      const bool inside = row >= padding && row < images_.height + padding;
      for (std::size_t l = 0; l < kernel; ++l, ++column) {
        // The first j with stride j + l >= padding, and the first with ... >= width + padding.
        const auto reaching = [&](std::size_t place) {
          return place <= l ? 0 : std::min((place - l + stride - 1) / stride, output_.width);
        };
        const std::size_t begin = reaching(padding), end = reaching(images_.width + padding);
        if (!inside || begin >= end) {
          use(column, 0, 0, 0);
        } else {
          const std::size_t above = c * images_.height + row - padding;
          use(column, begin, end, above * images_.width + stride * begin + l - padding);
        }
      }
    }
  }
}

template <class Real>
void PaddedConvolution<Real>::gather(const Units<Real>& x, std::size_t i) {
  patches_.resize(static_cast<Eigen::Index>(row()), static_cast<Eigen::Index>(layer_.inputs));
  each_column(i, [&](Eigen::Index column, std::size_t begin, std::size_t end, std::size_t pixel) {
    Real* const to = patches_.col(column).data();
    const Real* const from = x.data() + pixel * n_;
    std::fill(to, to + begin * n_, Real(0));
    if (shape_.stride == 1) {
      std::copy_n(from, (end - begin) * n_, to + begin * n_);
    } else {
      for (std::size_t j = begin; j < end; ++j)
        std::copy_n(from + (j - begin) * shape_.stride * n_, n_, to + j * n_);
    }
    std::fill(to + end * n_, to + row(), Real(0));
  });
}

template <class Real>
void PaddedConvolution<Real>::scatter(std::size_t i, Units<Real>& dx) const {
  const auto add = [](const Real* from, std::size_t count, Real* to) {
    for (std::size_t r = 0; r < count; ++r) to[r] += from[r];
  };
  each_column(i, [&](Eigen::Index column, std::size_t begin, std::size_t end, std::size_t pixel) {
    const Real* const from = by_patches_.col(column).data();
    Real* const to = dx.data() + pixel * n_;
    if (shape_.stride == 1) return add(from + begin * n_, (end - begin) * n_, to);
    for (std::size_t j = begin; j < end; ++j)
      add(from + j * n_, n_, to + (j - begin) * shape_.stride * n_);
  });
}

template class PaddedConvolution<float>;
template class PaddedConvolution<double>;

}  // namespace gradrace
