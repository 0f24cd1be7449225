#include "models/layers/batch_normalisation.h"

#include <algorithm>
#include <cmath>

#include "models/gpu/kernel_layer.h"

namespace gradrace {

/// A channel's pixels of all images are beside each other.
template <class Real>
using Channels = Eigen::Map<Eigen::Array<Real, Eigen::Dynamic, Eigen::Dynamic>>;
template <class Real>
using ConstChannels = Eigen::Map<const Eigen::Array<Real, Eigen::Dynamic, Eigen::Dynamic>>;

template <class Real>
static Real per_deviation(Real variance) {
  return 1 / std::sqrt(variance + static_cast<Real>(BatchNormalisation<Real>::epsilon));
}

template <class Real>
kernels::Layer BatchNormalisation<Real>::kernel_layer(kernels::Function f,
                                                      std::size_t learnt) const {
  auto layer = gradrace::kernel_layer(kernels::LayerKind::batch_normalisation, images_, images_, f);
  layer.first = static_cast<std::uint32_t>(first_);
  layer.statistics = static_cast<std::uint32_t>(learnt + first_statistic_);
  return layer;
}

template <class Real>
void BatchNormalisation<Real>::initialise(Real* w, Real* s) const {
  const std::size_t c = images_.channels;
  std::fill_n(std::fill_n(w + first_, c, Real(0)), c, Real(1));
  std::fill_n(std::fill_n(s + first_statistic_, c, Real(0)), c, Real(1));
}

template <class Real>
void BatchNormalisation<Real>::forward(const Real* w, const Real* s, const Units<Real>& x,
                                       Units<Real>& y) const {
  const Real *b = w + first_, *gamma = b + channels();
  const Real *mean = s + first_statistic_, *variance = mean + channels();
  y.resize(x.rows(), x.cols());
  const ConstChannels<Real> from(x.data(), pixels(x), channels());
  Channels<Real> to(y.data(), pixels(x), channels());
  for (Eigen::Index c = 0; c < channels(); ++c) {
    const Real factor = gamma[c] * per_deviation(variance[c]);
    to.col(c) = (from.col(c) - mean[c]) * factor + b[c];
  }
}

template <class Real>
void BatchNormalisation<Real>::learn(const Real* w, Units<Real>& x, Units<Real>& y) {
  const Real *b = w + first_, *gamma = b + channels();
  y.resize(x.rows(), x.cols());
  mean_.resize(images_.channels);
  variance_.resize(images_.channels);
  Channels<Real> u(x.data(), pixels(x), channels()), to(y.data(), pixels(x), channels());
  for (Eigen::Index c = 0; c < channels(); ++c) {
    const auto at = static_cast<std::size_t>(c);
    mean_[at] = u.col(c).mean();
    u.col(c) -= mean_[at];
    variance_[at] = u.col(c).square().mean();
    u.col(c) *= per_deviation(variance_[at]);
    to.col(c) = u.col(c) * gamma[c] + b[c];
  }
}

template <class Real>
void BatchNormalisation<Real>::backward(const Real* w, const Units<Real>& u, const Units<Real>& dy,
                                        Real* g, Real* s, Units<Real>& dx) const {
  const Real* const gamma = w + first_ + channels();
  Real *const db = g + first_, *const dgamma = db + channels();
  dx.resize(dy.rows(), dy.cols());
  const ConstChannels<Real> own(u.data(), pixels(u), channels()),
      from(dy.data(), pixels(u), channels());
  Channels<Real> to(dx.data(), pixels(u), channels());
  const Real share = 1 / static_cast<Real>(pixels(u));
  for (Eigen::Index c = 0; c < channels(); ++c) {
    db[c] = from.col(c).sum();
    dgamma[c] = (from.col(c) * own.col(c)).sum();
    const Real factor = gamma[c] * per_deviation(variance_[static_cast<std::size_t>(c)]);
    to.col(c) = factor * (from.col(c) - share * db[c] - (share * dgamma[c]) * own.col(c));
  }
  std::copy(variance_.begin(), variance_.end(),
            std::copy(mean_.begin(), mean_.end(), s + first_statistic_));
}

template class BatchNormalisation<float>;
template class BatchNormalisation<double>;

}  // namespace gradrace
