#include "models/layers/batch_normalisation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/cpu/kernels/kernels.h"
#include "models/layers/cpu_layer.h"
#include "models/layers/layer_table.h"

namespace gradrace {

namespace {

/// A channel's pixels of all images are beside each other.
template <class Real>
using Channels = Eigen::Map<Eigen::Array<Real, Eigen::Dynamic, Eigen::Dynamic>>;
template <class Real>
using ConstChannels = Eigen::Map<const Eigen::Array<Real, Eigen::Dynamic, Eigen::Dynamic>>;

template <class Real>
Real per_deviation(Real variance) {
  return 1 / std::sqrt(variance + static_cast<Real>(kernels::batch_epsilon));
}

template <class Real>
class BatchNormalisation final : public CpuLayer<Real> {
 public:
  explicit BatchNormalisation(const LayerSpec& spec)
      : CpuLayer<Real>(spec),
        channels_(spec.kernel.channels),
        mean_(spec.kernel.channels),
        variance_(spec.kernel.channels) {}

  /// b = 0, gamma = 1; mean 0, variance 1.
  void initialise(Stream&, Real* w) const override {
    for (Real* const part : {this->b(w), w + this->spec_.kernel.statistics})
      std::fill_n(std::fill_n(part, channels_, Real{0}), channels_, Real{1});
  }

  void forward(const Real* w, const Units<Real>& x, Units<Real>& y) override {
    const Real *b = this->b(w), *gamma = b + channels_;
    const Real *mean = w + this->spec_.kernel.statistics, *variance = mean + channels_;
    y.resize(x.rows(), x.cols());
    const ConstChannels<Real> from(x.data(), pixels(x), channels_);
    Channels<Real> to(y.data(), pixels(x), channels_);
    for (Eigen::Index c = 0; c < channels_; ++c) {
      const Real factor = gamma[c] * per_deviation(variance[c]);
      to.col(c) = (from.col(c) - mean[c]) * factor + b[c];
    }
  }

  void learn(const Real* w, const Units<Real>& x, Units<Real>& y) override {
    const Real *b = this->b(w), *gamma = b + channels_;
    y.resize(x.rows(), x.cols());
    const ConstChannels<Real> from(x.data(), pixels(x), channels_);
    Channels<Real> to(y.data(), pixels(x), channels_);
    for (Eigen::Index c = 0; c < channels_; ++c) {
      const auto at = static_cast<std::size_t>(c);
      mean_[at] = from.col(c).mean();
      variance_[at] = (from.col(c) - mean_[at]).square().mean();
      to.col(c) = u(from, c) * gamma[c] + b[c];
    }
  }

  void backward(const Real* w, const Units<Real>& x, const Units<Real>& dy, Real* g,
                Units<Real>* dx) override {
    const Real* const gamma = this->b(w) + channels_;
    Real *const db = this->b(g), *const dgamma = db + channels_;
    dx->resize(dy.rows(), dy.cols());
    const ConstChannels<Real> own(x.data(), pixels(x), channels_),
        from(dy.data(), pixels(x), channels_);
    Channels<Real> to(dx->data(), pixels(x), channels_);
    const Real share = 1 / static_cast<Real>(pixels(x));
    for (Eigen::Index c = 0; c < channels_; ++c) {
      db[c] = from.col(c).sum();
      dgamma[c] = (from.col(c) * u(own, c)).sum();
      const Real factor = gamma[c] * per_deviation(variance_[static_cast<std::size_t>(c)]);
      to.col(c) = factor * (from.col(c) - share * db[c] - (share * dgamma[c]) * u(own, c));
    }
    std::copy(variance_.begin(), variance_.end(),
              std::copy(mean_.begin(), mean_.end(), g + this->spec_.kernel.statistics));
  }

 private:
  /// Of a channel, in all rows.
  Eigen::Index pixels(const Units<Real>& x) const { return x.size() / channels_; }

  /// Of channel c of x, with mean and variance of the batch.
  auto u(const ConstChannels<Real>& x, Eigen::Index c) const {
    const auto at = static_cast<std::size_t>(c);
    return (x.col(c) - mean_[at]) * per_deviation(variance_[at]);
  }

  Eigen::Index channels_;
  std::vector<Real> mean_, variance_;  // of the batch
};

/// Calls use(c, first number of channel c, how many) for all channels.
template <class Use>
void each_channel(const Units<float>& x, Eigen::Index channels, const Use& use) {
  const auto numbers = static_cast<std::size_t>(x.size() / channels);
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) use(c, c * numbers, numbers);
}

template <>
void BatchNormalisation<float>::forward(const float* w, const Units<float>& x, Units<float>& y) {
  const float *b = this->b(w), *gamma = b + channels_;
  const float *mean = w + spec_.kernel.statistics, *variance = mean + channels_;
  y.resize(x.rows(), x.cols());
  const kernels::MapKernels& maps = kernels::chosen_kernels().maps;
  each_channel(x, channels_, [&](std::size_t c, std::size_t first, std::size_t numbers) {
    maps.normalise(x.data() + first, numbers, mean[c], gamma[c] * per_deviation(variance[c]), b[c],
                   y.data() + first);
  });
}

template <>
void BatchNormalisation<float>::learn(const float* w, const Units<float>& x, Units<float>& y) {
  const float *b = this->b(w), *gamma = b + channels_;
  y.resize(x.rows(), x.cols());
  const kernels::MapKernels& maps = kernels::chosen_kernels().maps;
  each_channel(x, channels_, [&](std::size_t c, std::size_t first, std::size_t numbers) {
    const kernels::Moments found = maps.moments(x.data() + first, numbers);
    mean_[c] = found.mean, variance_[c] = found.variance;
    maps.normalise(x.data() + first, numbers, found.mean, gamma[c] * per_deviation(found.variance),
                   b[c], y.data() + first);
  });
}

template <>
void BatchNormalisation<float>::backward(const float* w, const Units<float>& x,
                                         const Units<float>& dy, float* g, Units<float>* dx) {
  const float* const gamma = this->b(w) + channels_;
  float *const db = this->b(g), *const dgamma = db + channels_;
  dx->resize(x.rows(), x.cols());
  const kernels::MapKernels& maps = kernels::chosen_kernels().maps;
  each_channel(x, channels_, [&](std::size_t c, std::size_t first, std::size_t numbers) {
    const float *const own = x.data() + first, *const by_y = dy.data() + first;
    const float scale = per_deviation(variance_[c]), factor = gamma[c] * scale;
    const auto sums = maps.normalised_sums(own, by_y, numbers, mean_[c]);
    db[c] = sums.dy;
    dgamma[c] = sums.dy_x * scale;
    const float share = factor / static_cast<float>(numbers);
    maps.normalise_back(own, by_y, numbers, mean_[c], -(share * dgamma[c] * scale), factor,
                        -(share * db[c]), dx->data() + first);
  });
  std::copy(variance_.begin(), variance_.end(),
            std::copy(mean_.begin(), mean_.end(), g + spec_.kernel.statistics));
}

}  // namespace

LayerSpec batch_normalisation(const ImageShape& images, double decay) {
  return computed_by<BatchNormalisation>(
      {kernel_layer<kernels::BatchNormalisationSteps>(images, images),
       2 * images.channels,
       {2 * images.channels, decay}});
}

}  // namespace gradrace
