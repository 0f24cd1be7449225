#include "models/layers/pooling.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "models/cpu/kernels/kernels.h"
#include "models/layers/cpu_layer.h"
#include "models/layers/layer_table.h"

namespace gradrace {

namespace {

constexpr std::size_t width = 3, step = 2;

template <class Real>
class Pooling final : public CpuLayer<Real> {
 public:
  explicit Pooling(const LayerSpec& spec)
      : CpuLayer<Real>(spec),
        mean_(spec.kernel.kind == kernels::kind_of<kernels::MeanPoolingSteps>) {}

  void forward(const Real*, const Units<Real>& x, Units<Real>& y) override;
  void backward(const Real*, const Units<Real>& x, const Units<Real>& dy, Real*,
                Units<Real>* dx) override;

 private:
  /// Calls use(number of y, numbers of x, how many of them) for each window; a number stands for
  /// all rows.
  template <class Use>
  void each_window(const Use& use) const;

  kernels::PoolingShape shape() const {
    const auto [channels, height, columns] = this->images_;
    return {channels, height, columns, this->output_.height, this->output_.width, width, step};
  }

  bool mean_;
  Units<Real> places_;  // as y: which of the window's pixels was the greatest
};

template <class Real>
template <class Use>
void Pooling<Real>::each_window(const Use& use) const {
  const auto [channels, height, columns] = this->images_;
  std::size_t number = 0, pixels[width * width];
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < this->output_.height; ++i) {
      for (std::size_t j = 0; j < this->output_.width; ++j, ++number) {
        std::size_t count = 0;
        for (std::size_t k = step * i; k < std::min(step * i + width, height); ++k)
          for (std::size_t l = step * j; l < std::min(step * j + width, columns); ++l)
            pixels[count++] = (c * height + k) * columns + l;
        use(number, pixels, count);
      }
    }
  }
}

template <class Real>
void Pooling<Real>::forward(const Real*, const Units<Real>& x, Units<Real>& y) {
  const auto n = static_cast<std::size_t>(x.rows());
  const std::size_t numbers = this->output_.numbers();
  y.resize(x.rows(), static_cast<Eigen::Index>(numbers));
  if (!mean_) places_.setZero(y.rows(), y.cols());
  each_window([&](std::size_t number, const std::size_t* pixels, std::size_t count) {
    Real* const to = y.data() + number * n;
    std::copy_n(x.data() + pixels[0] * n, n, to);
    for (std::size_t k = 1; k < count; ++k) {
      const Real* const from = x.data() + pixels[k] * n;
      if (mean_) {
        for (std::size_t r = 0; r < n; ++r) to[r] += from[r];
        continue;
      }
      Real* const place = places_.data() + number * n;
      for (std::size_t r = 0; r < n; ++r) {
        const bool better = beats(from[r], to[r]);
        to[r] = better ? from[r] : to[r];
        place[r] = better ? static_cast<Real>(k) : place[r];
      }
    }
    if (!mean_) return;
    const Real share = 1 / static_cast<Real>(count);
    for (std::size_t r = 0; r < n; ++r) to[r] *= share;
  });
}

template <class Real>
void Pooling<Real>::backward(const Real*, const Units<Real>& x, const Units<Real>& dy, Real*,
                             Units<Real>* dx) {
  const auto n = static_cast<std::size_t>(dy.rows());
  dx->setZero(x.rows(), x.cols());
  each_window([&](std::size_t number, const std::size_t* pixels, std::size_t count) {
    const Real* const from = dy.data() + number * n;
    if (!mean_) {
      const Real* const place = places_.data() + number * n;
      for (std::size_t r = 0; r < n; ++r)
        dx->data()[pixels[static_cast<std::size_t>(place[r])] * n + r] += from[r];
      return;
    }
    const Real share = 1 / static_cast<Real>(count);
    for (std::size_t k = 0; k < count; ++k) {
      Real* const to = dx->data() + pixels[k] * n;
      for (std::size_t r = 0; r < n; ++r) to[r] += share * from[r];
    }
  });
}

template <>
void Pooling<float>::forward(const float*, const Units<float>& x, Units<float>& y) {
  const auto n = static_cast<std::size_t>(x.rows());
  const kernels::MapKernels& maps = kernels::chosen_kernels().maps;
  y.resize(x.rows(), static_cast<Eigen::Index>(output_.numbers()));
  if (mean_) return maps.mean(shape(), n, x.data(), y.data());
  places_.resize(y.rows(), y.cols());
  maps.greatest(shape(), n, x.data(), y.data(), places_.data());
}

template <>
void Pooling<float>::backward(const float*, const Units<float>& x, const Units<float>& dy, float*,
                              Units<float>* dx) {
  const auto n = static_cast<std::size_t>(dy.rows());
  const kernels::MapKernels& maps = kernels::chosen_kernels().maps;
  dx->resize(x.rows(), x.cols());
  if (mean_) return maps.mean_back(shape(), n, dy.data(), dx->data());
  maps.greatest_back(shape(), n, dy.data(), places_.data(), dx->data());
}

std::size_t pooled(std::size_t length) {
  return (std::max(length, width) - width + step - 1) / step + 1;
}

template <class Steps>
LayerSpec pooling(const ImageShape& images) {
  if (images.height < step || images.width < step)
    throw std::runtime_error("pooling 3 wide needs images of 2 x 2 or more, and gets " +
                             std::to_string(images.height) + " x " + std::to_string(images.width));
  kernels::Layer layer =
      kernel_layer<Steps>(images, {images.channels, pooled(images.height), pooled(images.width)});
  layer.kernel = width;
  layer.stride = step;
  return computed_by<Pooling>({layer});
}

}  // namespace

LayerSpec greatest_pooling(const ImageShape& images) {
  return pooling<kernels::GreatestPoolingSteps>(images);
}

LayerSpec mean_pooling(const ImageShape& images) {
  return pooling<kernels::MeanPoolingSteps>(images);
}

}  // namespace gradrace
