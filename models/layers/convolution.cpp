#include "models/layers/convolution.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/layers/convolution_products.h"
#include "models/layers/cpu_layer.h"
#include "models/layers/layer_table.h"
#include "models/layers/map_sums.h"

namespace gradrace {

namespace {

template <class Real>
class Convolution final : public CpuLayer<Real> {
 public:
  explicit Convolution(const LayerSpec& spec)
      : CpuLayer<Real>(spec), products_(this->images_, maps(), spec.kernel.kernel, 0, 1) {}

  void forward(const Real* w, const Units<Real>& x, Units<Real>& y) override {
    products_.forward(x, w + this->spec_.kernel.first, this->b(w), z_);
    y.resize(x.rows(), static_cast<Eigen::Index>(this->output_.numbers()));
    winners_.resize(static_cast<std::size_t>(y.size()));
    each_window([&](std::size_t number, std::size_t first) { pool(number, first, y); });
  }
  void backward(const Real* w, const Units<Real>& x, const Units<Real>& dy, Real* g,
                Units<Real>* dx) override {
    dz_.setZero(z_.rows(), z_.cols());
    each_window([&](std::size_t number, std::size_t first) { unpool(number, first, dy); });
    products_.add_up(x, dz_, g + this->spec_.kernel.first);
    sum_maps(dy, this->output_.channels, this->b(g));
    if (dx != nullptr) products_.backward(dz_, w + this->spec_.kernel.first, *dx);
  }

 private:
  /// What is pooled.
  ImageShape maps() const {
    return {this->output_.channels, 2 * this->output_.height, 2 * this->output_.width};
  }

  /// Calls use(number of y, first number of z) for each 2 x 2; a number stands for all rows.
  template <class Use>
  void each_window(const Use& use) const {
    const auto [channels, height, width] = this->output_;
    std::size_t number = 0;
    for (std::size_t o = 0; o < channels; ++o)
      for (std::size_t i = 0; i < height; ++i)
        for (std::size_t j = 0; j < width; ++j, ++number)
          use(number, ((o * height + i) * 2 * width + j) * 2);
  }

  void pool(std::size_t number, std::size_t first, Units<Real>& y) {
    const auto n = static_cast<std::size_t>(y.rows());
    const Real* const upper = z_.data() + first * n;
    const Real* const lower = upper + 2 * this->output_.width * n;
    Real* const to = y.data() + number * n;
    std::uint8_t* const winner = winners_.data() + number * n;
    for (std::size_t r = 0; r < n; ++r) {
      Real best = upper[r];
      std::uint8_t at = 0;
      const Real others[] = {upper[n + r], lower[r], lower[n + r]};
      for (std::uint8_t k = 0; k < 3; ++k) {
        const bool better = beats(others[k], best);
        best = better ? others[k] : best;
        at = better ? static_cast<std::uint8_t>(k + 1) : at;
      }
      to[r] = best;
      winner[r] = at;
    }
  }

  void unpool(std::size_t number, std::size_t first, const Units<Real>& dy) {
    const auto n = static_cast<std::size_t>(dy.rows());
    const std::size_t width = 2 * this->output_.width;
    const Real* const from = dy.data() + number * n;
    const std::uint8_t* const winner = winners_.data() + number * n;
    for (std::size_t r = 0; r < n; ++r)
      dz_.data()[(first + winner[r] / 2 * width + winner[r] % 2) * n + r] = from[r];
  }

  ConvolutionProducts<Real> products_;
  Units<Real> z_, dz_;                 // [n, numbers of maps()]
  std::vector<std::uint8_t> winners_;  // as y: which of the four was the greatest
};

ImageShape pooled(const ImageShape& images, std::size_t outputs, std::size_t kernel) {
  const std::size_t least = kernel + 1;
  if (images.height < least || images.width < least)
    throw std::runtime_error("a convolution with kernel " + std::to_string(kernel) +
                             " and pooling needs images of " + std::to_string(least) + " x " +
                             std::to_string(least) + " or more, and gets " +
                             std::to_string(images.height) + " x " + std::to_string(images.width));
  return {outputs, (images.height - kernel + 1) / 2, (images.width - kernel + 1) / 2};
}

}  // namespace

LayerSpec convolution(const ImageShape& images, std::size_t outputs, std::size_t kernel,
                      double sd) {
  kernels::Layer layer =
      kernel_layer<kernels::ConvolutionSteps>(images, pooled(images, outputs, kernel));
  layer.pools = true;
  layer.kernel = static_cast<std::uint32_t>(kernel);
  layer.stride = 1;
  layer.depth = layer.channels * layer.kernel * layer.kernel;
  return computed_by<Convolution>({layer, outputs * (layer.depth + 1), {}, sd});
}

}  // namespace gradrace
