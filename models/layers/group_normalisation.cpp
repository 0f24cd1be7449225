#include "models/layers/group_normalisation.h"

#include <algorithm>

#include "models/layers/cpu_layer.h"
#include "models/layers/layer_table.h"
#include "models/layers/map_sums.h"

namespace gradrace {

namespace {

template <class Real>
class GroupNormalisation final : public CpuLayer<Real> {
 public:
  using CpuLayer<Real>::CpuLayer;

  /// b = 0, gamma = 1.
  void initialise(Stream&, Real* w) const override {
    std::fill_n(std::fill_n(this->b(w), channels_, Real{0}), channels_, Real{1});
  }

  void forward(const Real* w, const Units<Real>& x, Units<Real>& y) override {
    const Real *b = this->b(w), *gamma = b + channels_;
    y.resize(x.rows(), x.cols());
    mean_.resize(x.rows(), groups_);
    per_deviation_.resize(x.rows(), groups_);
    for (Eigen::Index group = 0; group < groups_; ++group) {
      auto mean = mean_.col(group), per_deviation = per_deviation_.col(group);
      mean.setZero();
      each_of(group, [&](Eigen::Index, Eigen::Index k) { mean += x.col(k).array(); });
      mean /= static_cast<Real>(numbers());
      per_deviation.setZero();
      each_of(group, [&](Eigen::Index, Eigen::Index k) {
        per_deviation += (x.col(k).array() - mean).square();
      });
      per_deviation /= static_cast<Real>(numbers());
      per_deviation = 1 / (per_deviation + static_cast<Real>(kernels::group_epsilon)).sqrt();
      each_of(group, [&](Eigen::Index c, Eigen::Index k) {
        y.col(k) = (u(x, group, k) * gamma[c] + b[c]).matrix();
      });
    }
  }

  /// With dz = gamma dy: dx = (dz - mean of dz - u (mean of dz u)) / sqrt(variance + 1e-5).
  void backward(const Real* w, const Units<Real>& x, const Units<Real>& dy, Real* g,
                Units<Real>* dx) override {
    const Real* const gamma = this->b(w) + channels_;
    Real *const db = this->b(g), *const dgamma = db + channels_;
    const auto channels = static_cast<std::size_t>(channels_);
    dy_u_.resize(x.rows(), x.cols());
    dx->resize(x.rows(), x.cols());
    for (Eigen::Index group = 0; group < groups_; ++group) {
      mean_dz_.setZero(x.rows());
      mean_dz_u_.setZero(x.rows());
      each_of(group, [&](Eigen::Index c, Eigen::Index k) {
        const auto by_y = dy.col(k).array();
        dy_u_.col(k) = (by_y * u(x, group, k)).matrix();
        mean_dz_ += gamma[c] * by_y;
        mean_dz_u_ += gamma[c] * by_y * u(x, group, k);
      });
      mean_dz_ /= static_cast<Real>(numbers());
      mean_dz_u_ /= static_cast<Real>(numbers());
      each_of(group, [&](Eigen::Index c, Eigen::Index k) {
        dx->col(k) = (per_deviation_.col(group) *
                      (gamma[c] * dy.col(k).array() - mean_dz_ - u(x, group, k) * mean_dz_u_))
                         .matrix();
      });
    }
    sum_maps(dy, channels, db);
    sum_maps(dy_u_, channels, dgamma);
  }

 private:
  /// Of a group in an image.
  Eigen::Index numbers() const { return channels_ / groups_ * pixels_; }

  /// Calls use(channel, number in the image) for each of a group's numbers.
  template <class Use>
  void each_of(Eigen::Index group, const Use& use) const {
    for (Eigen::Index k = group * numbers(); k < (group + 1) * numbers(); ++k) use(k / pixels_, k);
  }

  /// Of number k of all images.
  auto u(const Units<Real>& x, Eigen::Index group, Eigen::Index k) const {
    return (x.col(k).array() - mean_.col(group)) * per_deviation_.col(group);
  }

  const Eigen::Index channels_ = this->spec_.kernel.channels,
                     groups_ = kernels::groups(this->spec_.kernel);
  const Eigen::Index pixels_ = this->spec_.kernel.pixels();
  Eigen::Array<Real, Eigen::Dynamic, Eigen::Dynamic> mean_, per_deviation_;  // [n, groups]
  Eigen::Array<Real, Eigen::Dynamic, 1> mean_dz_, mean_dz_u_;                // [n]
  Units<Real> dy_u_;
};

}  // namespace

LayerSpec group_normalisation(const ImageShape& images, std::size_t groups) {
  kernels::Layer layer = kernel_layer<kernels::GroupNormalisationSteps>(images, images);
  std::size_t most = std::min(groups, images.channels);
  while (images.channels % most != 0) --most;
  layer.own[0] = static_cast<std::uint32_t>(most);
  return computed_by<GroupNormalisation>({layer, 2 * images.channels});
}

}  // namespace gradrace
