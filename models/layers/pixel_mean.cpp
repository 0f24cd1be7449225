#include "models/layers/pixel_mean.h"

#include <algorithm>

#include "models/cpu/kernels/kernels.h"
#include "models/layers/cpu_layer.h"
#include "models/layers/layer_table.h"

namespace gradrace {

namespace {

template <class Real>
class PixelMean final : public CpuLayer<Real> {
 public:
  using CpuLayer<Real>::CpuLayer;

  void forward(const Real*, const Units<Real>& x, Units<Real>& y) override {
    y.resize(x.rows(), x.cols() / pixels_);
    for (Eigen::Index c = 0; c < y.cols(); ++c)
      y.col(c) = x.middleCols(c * pixels_, pixels_).rowwise().mean();
  }

  void backward(const Real*, const Units<Real>& x, const Units<Real>& dy, Real*,
                Units<Real>* dx) override {
    dx->resize(x.rows(), x.cols());
    for (Eigen::Index c = 0; c < dy.cols(); ++c)
      dx->middleCols(c * pixels_, pixels_).colwise() = dy.col(c) / static_cast<Real>(pixels_);
  }

 private:
  /// A window that has all of a map.
  kernels::PoolingShape shape() const {
    const auto [channels, height, width] = this->images_;
    return {channels, height, width, 1, 1, std::max(height, width), 1};
  }

  Eigen::Index pixels_ = static_cast<Eigen::Index>(this->images_.height * this->images_.width);
};

template <>
void PixelMean<float>::forward(const float*, const Units<float>& x, Units<float>& y) {
  y.resize(x.rows(), x.cols() / pixels_);
  kernels::chosen_kernels().maps.mean(shape(), static_cast<std::size_t>(x.rows()), x.data(),
                                      y.data());
}

template <>
void PixelMean<float>::backward(const float*, const Units<float>& x, const Units<float>& dy, float*,
                                Units<float>* dx) {
  dx->resize(x.rows(), x.cols());
  kernels::chosen_kernels().maps.mean_back(shape(), static_cast<std::size_t>(x.rows()), dy.data(),
                                           dx->data());
}

}  // namespace

LayerSpec pixel_mean(const ImageShape& images) {
  return computed_by<PixelMean>(
      {kernel_layer<kernels::PixelMeanSteps>(images, {images.channels, 1, 1})});
}

}  // namespace gradrace
