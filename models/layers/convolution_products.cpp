#include "models/layers/convolution_products.h"

namespace gradrace {

namespace {

template <class TapsOf>
std::vector<kernels::Taps> all_taps(const kernels::ConvolutionShape& shape, TapsOf taps_of,
                                    std::size_t pixels, std::size_t seen) {
  std::vector<kernels::Taps> taps;
  for (std::size_t i = 0; i < pixels; ++i) taps.push_back(taps_of(shape, i, seen));
  return taps;
}

}  // namespace

template <class Real>
ConvolutionProducts<Real>::ConvolutionProducts(const ImageShape& x, const ImageShape& z,
                                               std::size_t kernel, std::size_t padding,
                                               std::size_t stride)
    : shape_{x.channels, x.height, x.width, z.channels, z.height, z.width, kernel, padding, stride},
      rows_of_z_(all_taps(shape_, kernels::taps_of_output, z.height, x.height)),
      columns_of_z_(all_taps(shape_, kernels::taps_of_output, z.width, x.width)),
      rows_of_x_(all_taps(shape_, kernels::taps_of_input, x.height, z.height)),
      columns_of_x_(all_taps(shape_, kernels::taps_of_input, x.width, z.width)) {}

template <class Real>
Real* ConvolutionProducts<Real>::scratch(std::size_t numbers) {
  if (scratch_.size() < numbers) scratch_.resize(numbers);
  return scratch_.data();
}

template <class Real>
void ConvolutionProducts<Real>::forward(const Units<Real>& x, const Real* W, const Real* b,
                                        Units<Real>& z) {
  const std::size_t pixels = shape_.out_height * shape_.out_width;
  z.resize(x.rows(), static_cast<Eigen::Index>(shape_.outputs * pixels));
  kernels_.correlate({.x = x.data(),
                      .n = static_cast<std::size_t>(x.rows()),
                      .channels = shape_.channels,
                      .height = shape_.height,
                      .width = shape_.width,
                      .kernel = shape_.kernel,
                      .rows = rows_of_z_,
                      .columns = columns_of_z_,
                      .w = W,
                      .of_output = shape_.channels * shape_.area(),
                      .of_channel = shape_.area(),
                      .b = b,
                      .outputs = shape_.outputs},
                     z.data(), scratch(most_outputs * shape_.area() * shape_.channels));
}

template <class Real>
void ConvolutionProducts<Real>::backward(const Units<Real>& dz, const Real* W, Units<Real>& dx) {
  const std::size_t pixels = shape_.height * shape_.width;
  dx.resize(dz.rows(), static_cast<Eigen::Index>(shape_.channels * pixels));
  kernels_.correlate({.x = dz.data(),
                      .n = static_cast<std::size_t>(dz.rows()),
                      .channels = shape_.outputs,
                      .height = shape_.out_height,
                      .width = shape_.out_width,
                      .kernel = shape_.kernel,
                      .rows = rows_of_x_,
                      .columns = columns_of_x_,
                      .w = W,
                      .of_output = shape_.area(),
                      .of_channel = shape_.channels * shape_.area(),
                      .b = nullptr,
                      .outputs = shape_.channels},
                     dx.data(), scratch(most_outputs * shape_.area() * shape_.outputs));
}

template <class Real>
void ConvolutionProducts<Real>::add_up(const Units<Real>& x, const Units<Real>& dz, Real* dW) {
  kernels_.weight_sums(shape_, static_cast<std::size_t>(x.rows()), x.data(), dz.data(), dW,
                       scratch(16 * shape_.weights()));
}

template class ConvolutionProducts<float>;
template class ConvolutionProducts<double>;

}  // namespace gradrace
