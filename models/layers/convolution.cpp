#include "models/layers/convolution.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace gradrace {

static ImageShape pooled(const ImageShape& images, std::size_t outputs, std::size_t kernel) {
  const std::size_t least = kernel + 1;
  if (images.height < least || images.width < least)
    throw std::runtime_error("a convolution with kernel " + std::to_string(kernel) +
                             " and pooling needs images of " + std::to_string(least) + " x " +
                             std::to_string(least) + " or more, and gets " +
                             std::to_string(images.height) + " x " + std::to_string(images.width));
  return {outputs, (images.height - kernel + 1) / 2, (images.width - kernel + 1) / 2};
}

template <class Real>
Convolution<Real>::Convolution(const ImageShape& images, std::size_t outputs, std::size_t kernel,
                               std::size_t first)
    : images_(images),
      output_(pooled(images, outputs, kernel)),
      kernel_(kernel),
      width_(images.width - kernel + 1),
      layer_{images.channels * kernel * kernel, outputs, first} {}

template <class Real>
kernels::Layer Convolution<Real>::kernel_layer(kernels::Function f) const {
  auto layer = layer_.kernel_layer(kernels::LayerKind::convolution, images_, output_, f);
  layer.kernel = static_cast<std::uint32_t>(kernel_);
  return layer;
}

template <class Real>
void Convolution<Real>::forward(const Real* w, const Units<Real>& x, Units<Real>& y) {
  n_ = static_cast<std::size_t>(x.rows());
  const std::size_t pixels = output_.height * output_.width;
  y.resize(x.rows(), static_cast<Eigen::Index>(layer_.outputs * pixels));
  winners_.resize(static_cast<std::size_t>(y.size()));
  z_.resize(static_cast<Eigen::Index>(2 * width_ * n_), static_cast<Eigen::Index>(layer_.outputs));
  for (std::size_t i = 0; i < output_.height; ++i) {
    gather(x, i);
    z_.noalias() = patches_ * layer_.W(w).transpose();
    pool(i, y);
  }
  const Real* b = w + layer_.first + layer_.weights();
  for (std::size_t o = 0; o < layer_.outputs; ++o)
    y.middleCols(static_cast<Eigen::Index>(o * pixels), static_cast<Eigen::Index>(pixels))
        .array() += b[o];
}

template <class Real>
void Convolution<Real>::backward(const Real* w, const Units<Real>& x, const Units<Real>& dy,
                                 Real* g, Units<Real>* dx) {
  const auto W = layer_.W(w);
  dW_.setZero(W.rows(), W.cols());
  dz_.resize(z_.rows(), z_.cols());
  if (dx != nullptr) dx->setZero(x.rows(), x.cols());
  for (std::size_t i = 0; i < output_.height; ++i) {
    gather(x, i);
    unpool(i, dy);
    dW_.noalias() += dz_.transpose() * patches_;
    if (dx == nullptr) continue;
    by_patches_.noalias() = dz_ * W;
    scatter(i, *dx);
  }
  Real* const to = std::copy_n(dW_.data(), layer_.weights(), g + layer_.first);
  const auto pixels = static_cast<Eigen::Index>(output_.height * output_.width);
  for (Eigen::Index o = 0; o < W.rows(); ++o) to[o] = dy.middleCols(o * pixels, pixels).sum();
}

template <class Real>
template <class Images, class Copy>
void Convolution<Real>::each_piece(Images* images, std::size_t i, const Copy& copy) const {
  Eigen::Index column = 0;
  for (std::size_t c = 0; c < images_.channels; ++c) {
    for (std::size_t k = 0; k < kernel_; ++k) {
      for (std::size_t l = 0; l < kernel_; ++l, ++column) {
        for (std::size_t row : {0, 1}) {
          const std::size_t pixel = (c * images_.height + 2 * i + row + k) * images_.width + l;
          copy(column, row * width_ * n_, images + pixel * n_);
        }
      }
    }
  }
}

template <class Real>
void Convolution<Real>::gather(const Units<Real>& x, std::size_t i) {
  patches_.resize(static_cast<Eigen::Index>(2 * width_ * n_),
                  static_cast<Eigen::Index>(layer_.inputs));
  each_piece(x.data(), i, [&](Eigen::Index column, std::size_t first, const Real* numbers) {
    std::copy_n(numbers, width_ * n_, patches_.col(column).data() + first);
  });
}

template <class Real>
void Convolution<Real>::scatter(std::size_t i, Units<Real>& dx) const {
  each_piece(dx.data(), i, [&](Eigen::Index column, std::size_t first, Real* numbers) {
    const Real* from = by_patches_.col(column).data() + first;
    for (std::size_t j = 0; j < width_ * n_; ++j) numbers[j] += from[j];
  });
}

/// Greater, or no number: what is none stays so.
template <class Real>
static bool beats(Real a, Real b) {
  return (a > b) | (a != a);
}

template <class Real>
void Convolution<Real>::pool(std::size_t i, Units<Real>& y) {
  for (std::size_t o = 0; o < layer_.outputs; ++o) {
    const Real* const z = z_.col(static_cast<Eigen::Index>(o)).data();
    for (std::size_t j = 0; j < output_.width; ++j) {
      const Real* const upper = z + 2 * j * n_;
      const Real* const lower = upper + width_ * n_;
      const std::size_t first = ((o * output_.height + i) * output_.width + j) * n_;
      Real* const to = y.data() + first;
      std::uint8_t* const winner = winners_.data() + first;
      for (std::size_t r = 0; r < n_; ++r) {
        Real best = upper[r];
        std::uint8_t at = 0;
        const Real others[] = {upper[n_ + r], lower[r], lower[n_ + r]};
        for (std::uint8_t k = 0; k < 3; ++k) {
          const bool better = beats(others[k], best);
          best = better ? others[k] : best;
          at = better ? static_cast<std::uint8_t>(k + 1) : at;
        }
        to[r] = best;
        winner[r] = at;
      }
    }
  }
}

template <class Real>
void Convolution<Real>::unpool(std::size_t i, const Units<Real>& dy) {
  dz_.setZero();
  for (std::size_t o = 0; o < layer_.outputs; ++o) {
    Real* const dz = dz_.col(static_cast<Eigen::Index>(o)).data();
    for (std::size_t j = 0; j < output_.width; ++j) {
      const std::size_t first = ((o * output_.height + i) * output_.width + j) * n_;
      const Real* const from = dy.data() + first;
      const std::uint8_t* const winner = winners_.data() + first;
      for (std::size_t r = 0; r < n_; ++r) {
        const std::size_t row = winner[r] / 2, column = 2 * j + winner[r] % 2;
        dz[(row * width_ + column) * n_ + r] = from[r];
      }
    }
  }
}

template class Convolution<float>;
template class Convolution<double>;

}  // namespace gradrace
