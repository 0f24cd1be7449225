#pragma once

#include <cstddef>
#include <vector>

#include "models/datasets/dataset.h"
#include "models/layers/kernels/batch_normalisation.h"
#include "models/sampling/batch.h"

namespace gradrace {

/// y = gamma u + b,  u = (x - mean) / sqrt(variance + 1e-5), channel by channel: in a gradient with
/// mean and variance of the channel's pixels in the whole batch (the variance divides by their
/// number), in an evaluation with those that the value carries.  Source: Ioffe, Szegedy, ICML 2015.
///
/// An image is a row of Units, its width beside itself.  Parameters: b [channels], then gamma
/// [channels]; statistics: mean [channels], then variance [channels].
template <class Real>
class BatchNormalisation {
 public:
  static constexpr double epsilon = kernels::batch_epsilon;

  /// Where the parameters begin among those that are learnt, and where the statistics among the
  /// statistics.  Below w and g are the former, s the latter.
  BatchNormalisation(const ImageShape& images, std::size_t first, std::size_t first_statistic)
      : images_(images), first_(first), first_statistic_(first_statistic) {}

  std::size_t end() const { return first_ + 2 * images_.channels; }
  std::size_t end_statistics() const { return first_statistic_ + 2 * images_.channels; }

  /// The same for a kernel, followed by f; the statistics come after so many parameters.
  kernels::Layer kernel_layer(kernels::Function f, std::size_t learnt) const;

  /// b = 0, gamma = 1; mean 0, variance 1.
  void initialise(Real* w, Real* s) const;

  /// In an evaluation.
  void forward(const Real* w, const Real* s, const Units<Real>& x, Units<Real>& y) const;

  /// In a gradient; x becomes u.
  void learn(const Real* w, Units<Real>& x, Units<Real>& y);

  /// This layer's part of g, its statistics of the batch and dx from dy, after learn() has made u.
  void backward(const Real* w, const Units<Real>& u, const Units<Real>& dy, Real* g, Real* s,
                Units<Real>& dx) const;

 private:
  Eigen::Index channels() const { return static_cast<Eigen::Index>(images_.channels); }
  Eigen::Index pixels(const Units<Real>& x) const {
    return x.rows() * static_cast<Eigen::Index>(images_.height * images_.width);
  }

  ImageShape images_;
  std::size_t first_, first_statistic_;
  std::vector<Real> mean_, variance_;  // of the batch
};

}  // namespace gradrace
