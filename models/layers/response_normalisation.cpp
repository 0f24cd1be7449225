#include "models/layers/response_normalisation.h"

#include <algorithm>
#include <cstddef>

#include "models/cpu/kernels/kernels.h"
#include "models/layers/cpu_layer.h"
#include "models/layers/layer_table.h"

namespace gradrace {

namespace {

constexpr double alpha = kernels::response_alpha, beta = kernels::response_beta;

template <class Real>
class ResponseNormalisation final : public CpuLayer<Real> {
 public:
  using CpuLayer<Real>::CpuLayer;

  void forward(const Real*, const Units<Real>& x, Units<Real>& y) override;
  void backward(const Real*, const Units<Real>& x, const Units<Real>& dy, Real*,
                Units<Real>* dx) override;

 private:
  /// sums = those of the 3 x 3 around each pixel of q.
  void sum_around(const Units<Real>& q, Units<Real>& sums) const;

  kernels::Neighbourhood neighbourhood() const {
    return {this->images_.channels, this->images_.height, this->images_.width};
  }

  Units<Real> s_, power_, ratio_, terms_, sums_;  // as x; power_ = s^-beta, ratio_ = y / s
};

template <class Real>
void ResponseNormalisation<Real>::forward(const Real*, const Units<Real>& x, Units<Real>& y) {
  terms_ = x.array().square();
  sum_around(terms_, sums_);
  s_ = 1 + static_cast<Real>(alpha / 9) * sums_.array();
  power_ = s_.array().pow(static_cast<Real>(-beta));
  y = x.array() * power_.array();
  ratio_ = y.array() / s_.array();
}

template <class Real>
void ResponseNormalisation<Real>::backward(const Real*, const Units<Real>& x, const Units<Real>& dy,
                                           Real*, Units<Real>* dx) {
  terms_ = dy.array() * ratio_.array();
  sum_around(terms_, sums_);
  *dx = dy.array() * power_.array() -
        static_cast<Real>(2 * beta * alpha / 9) * x.array() * sums_.array();
}

template <class Real>
void ResponseNormalisation<Real>::sum_around(const Units<Real>& q, Units<Real>& sums) const {
  const auto n = static_cast<std::size_t>(q.rows());
  const auto [channels, height, width] = this->images_;
  sums.setZero(q.rows(), q.cols());
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < height; ++i) {
      for (std::size_t k = i > 0 ? i - 1 : 0; k < std::min(i + 2, height); ++k) {
        // A row of pixels with that of its left, its own and its right neighbours.
        Real* const to = sums.data() + (c * height + i) * width * n;
        const Real* const from = q.data() + (c * height + k) * width * n;
        for (std::size_t r = n; r < width * n; ++r) to[r] += from[r - n];
        for (std::size_t r = 0; r < width * n; ++r) to[r] += from[r];
        for (std::size_t r = n; r < width * n; ++r) to[r - n] += from[r];
      }
    }
  }
}

template <>
void ResponseNormalisation<float>::forward(const float*, const Units<float>& x, Units<float>& y) {
  for (Units<float>* const map : {&y, &power_, &ratio_}) map->resize(x.rows(), x.cols());
  kernels::chosen_kernels().maps.respond(neighbourhood(), static_cast<std::size_t>(x.rows()),
                                         static_cast<float>(alpha / 9), x.data(), y.data(),
                                         power_.data(), ratio_.data());
}

template <>
void ResponseNormalisation<float>::backward(const float*, const Units<float>& x,
                                            const Units<float>& dy, float*, Units<float>* dx) {
  dx->resize(x.rows(), x.cols());
  kernels::chosen_kernels().maps.respond_back(neighbourhood(), static_cast<std::size_t>(x.rows()),
                                              static_cast<float>(2 * beta * alpha / 9), x.data(),
                                              dy.data(), power_.data(), ratio_.data(), dx->data());
}

}  // namespace

LayerSpec response_normalisation(const ImageShape& images) {
  return computed_by<ResponseNormalisation>(
      {kernel_layer<kernels::ResponseNormalisationSteps>(images, images)});
}

}  // namespace gradrace
