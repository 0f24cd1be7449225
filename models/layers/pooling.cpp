#include "models/layers/pooling.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "models/gpu/kernel_layer.h"

namespace gradrace {

template <class Real>
static std::size_t pooled(std::size_t length) {
  constexpr std::size_t width = Pooling<Real>::width, step = Pooling<Real>::step;
  return (std::max(length, width) - width + step - 1) / step + 1;
}

template <class Real>
Pooling<Real>::Pooling(Pool kind, const ImageShape& images)
    : kind_(kind),
      images_(images),
      output_{images.channels, pooled<Real>(images.height), pooled<Real>(images.width)} {
  if (images.height < step || images.width < step)
    throw std::runtime_error("pooling 3 wide needs images of 2 x 2 or more, and gets " +
                             std::to_string(images.height) + " x " + std::to_string(images.width));
}

template <class Real>
kernels::Layer Pooling<Real>::kernel_layer(kernels::Function f) const {
  const auto kind = kind_ == Pool::greatest ? kernels::LayerKind::greatest_pooling
                                            : kernels::LayerKind::mean_pooling;
  kernels::Layer layer = gradrace::kernel_layer(kind, images_, output_, f);
  layer.kernel = width;
  layer.stride = step;
  return layer;
}

template <class Real>
template <class Use>
void Pooling<Real>::each_window(const Use& use) const {
  const auto [channels, height, columns] = images_;
  std::size_t number = 0, pixels[width * width];
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < output_.height; ++i) {
      for (std::size_t j = 0; j < output_.width; ++j, ++number) {
        std::size_t count = 0;
        for (std::size_t k = step * i; k < std::min(step * i + width, height); ++k)
          for (std::size_t l = step * j; l < std::min(step * j + width, columns); ++l)
            pixels[count++] = (c * height + k) * columns + l;
        use(number, pixels, count);
      }
    }
  }
}

/// Greater, or no number: what is none stays so.
template <class Real>
static bool beats(Real a, Real b) {
  return (a > b) | (a != a);
}

template <class Real>
void Pooling<Real>::forward(const Units<Real>& x, Units<Real>& y) {
  const auto n = static_cast<std::size_t>(x.rows());
  const std::size_t numbers = output_.channels * output_.height * output_.width;
  y.resize(x.rows(), static_cast<Eigen::Index>(numbers));
  if (kind_ == Pool::greatest) winners_.assign(n * numbers, 0);
  each_window([&](std::size_t number, const std::size_t* pixels, std::size_t count) {
    Real* const to = y.data() + number * n;
    std::copy_n(x.data() + pixels[0] * n, n, to);
    for (std::size_t k = 1; k < count; ++k) {
      const Real* const from = x.data() + pixels[k] * n;
      if (kind_ == Pool::mean) {
        for (std::size_t r = 0; r < n; ++r) to[r] += from[r];
        continue;
      }
      std::uint8_t* const winner = winners_.data() + number * n;
      for (std::size_t r = 0; r < n; ++r) {
        const bool better = beats(from[r], to[r]);
        to[r] = better ? from[r] : to[r];
        winner[r] = better ? static_cast<std::uint8_t>(k) : winner[r];
      }
    }
    if (kind_ == Pool::greatest) return;
    const Real share = 1 / static_cast<Real>(count);
    for (std::size_t r = 0; r < n; ++r) to[r] *= share;
  });
}

template <class Real>
void Pooling<Real>::backward(const Units<Real>& dy, Units<Real>& dx) const {
  const auto n = static_cast<std::size_t>(dy.rows());
  dx.setZero(dy.rows(),
             static_cast<Eigen::Index>(images_.channels * images_.height * images_.width));
  each_window([&](std::size_t number, const std::size_t* pixels, std::size_t count) {
    const Real* const from = dy.data() + number * n;
    if (kind_ == Pool::greatest) {
      const std::uint8_t* const winner = winners_.data() + number * n;
      for (std::size_t r = 0; r < n; ++r) dx.data()[pixels[winner[r]] * n + r] += from[r];
      return;
    }
    const Real share = 1 / static_cast<Real>(count);
    for (std::size_t k = 0; k < count; ++k) {
      Real* const to = dx.data() + pixels[k] * n;
      for (std::size_t r = 0; r < n; ++r) to[r] += share * from[r];
    }
  });
}

template class Pooling<float>;
template class Pooling<double>;

}  // namespace gradrace
