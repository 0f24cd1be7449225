#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "tests/support/one_layer.h"

namespace gradrace::convolution_kernels_test {

namespace {

using kernels::ConvolutionSteps, kernels::ConvolvedShape, kernels::Layer;

struct Shape {
  std::uint32_t channels, height, width, outputs, kernel, stride = 1, padding = 0;
  bool pools = false;
  std::uint32_t n = 3;
};

std::uint32_t convolved(std::uint32_t length, const Shape& shape) {
  const std::uint32_t z = (length + 2 * shape.padding - shape.kernel) / shape.stride + 1;
  return shape.pools ? z / 2 : z;
}

/// With relu before and after it; on the way back it adds.
Layer layer_of(const Shape& shape) {
  Layer layer;
  layer.f = layer.before = Activation::relu;
  layer.pools = shape.pools;
  layer.channels = shape.channels, layer.height = shape.height, layer.width = shape.width;
  layer.outputs = shape.outputs;
  layer.out_height = convolved(shape.height, shape);
  layer.out_width = convolved(shape.width, shape);
  layer.kernel = shape.kernel, layer.padding = shape.padding, layer.stride = shape.stride;
  layer.depth = shape.channels * shape.kernel * shape.kernel;
  layer.adds = true;
  return layer;
}

/// Calls use(number of z, of x, of W) for each product of the sums z = W * x.
template <class Use>
void each_product(const Shape& shape, const Layer& layer, const Use& use) {
  const ConvolvedShape of(layer);
  for (std::uint32_t image = 0; image < shape.n; ++image)
    for (std::uint32_t o = 0; o < shape.outputs; ++o)
      for (std::uint32_t c = 0; c < shape.channels; ++c)
        for (std::uint32_t k = 0; k < shape.kernel; ++k)
          for (std::uint32_t l = 0; l < shape.kernel; ++l)
            for (std::uint32_t i = 0; i < of.z_height; ++i)
              for (std::uint32_t j = 0; j < of.z_width; ++j) {
                const std::uint32_t a = i * shape.stride + k - shape.padding;
                const std::uint32_t b = j * shape.stride + l - shape.padding;
                if (a < shape.height && b < shape.width)
                  use(((image * shape.outputs + o) * of.z_height + i) * of.z_width + j,
                      ((image * shape.channels + c) * shape.height + a) * shape.width + b,
                      ((o * shape.channels + c) * shape.kernel + k) * shape.kernel + l);
              }
}

template <class Real>
class Check {
 public:
  Check(const Shape& shape, double tolerance)
      : shape_(shape), layer_(layer_of(shape), shape.n, 2), at_(layer_.at(1)), of_(layer_.layer()) {
    Real* const x = layer_.x(1);
    for (std::uint32_t i = 0; i < shape.n * layer_.layer().inputs(); ++i)
      x[i] = std::max(x[i], Real{0});
    z_.resize(shape.n * shape.outputs * of_.z_height * of_.z_width);
    each_product(shape, layer_.layer(), [&](std::uint32_t z, std::uint32_t of_x, std::uint32_t w) {
      z_[z] += static_cast<double>(at_.x[of_x]) * static_cast<double>(at_.W()[w]);
    });
    layer_.forward(1);
    CHECK(error_of_y() <= tolerance);
    check_gradient(tolerance);
  }

 private:
  double error_of_y() const {
    const std::uint32_t factor = shape_.pools ? 2 : 1;
    Error error;
    for (std::uint32_t i = 0; i < shape_.n * layer_.layer().units(); ++i) {
      const kernels::Pixel pixel(layer_.layer(), i);
      const std::uint32_t map = (pixel.row * shape_.outputs + pixel.channel) * of_.z_height;
      double best = -std::numeric_limits<double>::infinity();
      for (std::uint32_t k = 0; k < factor * factor; ++k)
        best = std::max(
            best, z_[(map + factor * pixel.i + k / 2) * of_.z_width + factor * pixel.j + k % 2]);
      error.add(at_.y[i], std::max(0.0, best + static_cast<double>(at_.b()[pixel.channel])));
    }
    return error.relative();
  }
  void check_gradient(double tolerance) {
    const Layer& layer = layer_.layer();
    const std::vector<double> was(at_.by_x, at_.by_x + shape_.n * layer.inputs());
    std::vector<double> dx(was.size()), dW(layer.weights()), db(layer.outputs);
    const kernels::Maps<Real> maps = maps_of_dz(at_);
    each_product(shape_, layer, [&](std::uint32_t z, std::uint32_t x, std::uint32_t w) {
      const std::uint32_t line = z / of_.z_width, plane = line / of_.z_height;
      const auto dz = static_cast<double>(maps(plane / shape_.outputs, plane % shape_.outputs,
                                               line % of_.z_height, z % of_.z_width));
      dx[x] += dz * static_cast<double>(at_.W()[w]);
      dW[w] += dz * static_cast<double>(at_.x[x]);
    });
    for (std::uint32_t i = 0; i < shape_.n * layer.units(); ++i)
      db[kernels::Pixel(layer, i).channel] += static_cast<double>(at_.by_y[i]);
    layer_.backward(1);
    Error of_dx, of_dW, of_db;
    for (std::uint32_t i = 0; i < dx.size(); ++i)
      of_dx.add(at_.by_x[i], was[i] + (at_.x[i] > 0 ? dx[i] : 0));
    for (std::uint32_t i = 0; i < dW.size(); ++i) of_dW.add(at_.g[i], dW[i]);
    for (std::uint32_t i = 0; i < db.size(); ++i) of_db.add(at_.g[dW.size() + i], db[i]);
    CHECK(of_dx.relative() <= tolerance);
    CHECK(of_dW.relative() <= tolerance);
    CHECK(of_db.relative() <= tolerance);
  }

  Shape shape_;
  OneLayer<Real, ConvolutionSteps> layer_;
  kernels::LayerAt<Real> at_;
  ConvolvedShape of_;
  std::vector<double> z_;
};

template <class Real>
void check(const Shape& shape, double tolerance) {
  CAPTURE(shape.channels);
  CAPTURE(shape.height);
  CAPTURE(shape.width);
  CAPTURE(shape.outputs);
  CAPTURE(shape.kernel);
  CAPTURE(shape.stride);
  CAPTURE(shape.padding);
  CAPTURE(shape.pools);
  Check<Real>(shape, tolerance);
}

// Of ResNets for CIFAR-10, and of LeNet.
const Shape measured[] = {{16, 32, 32, 16, 3, 1, 1},        {32, 16, 16, 32, 3, 1, 1},
                          {64, 8, 8, 64, 3, 1, 1},          {16, 32, 32, 32, 3, 2, 1},
                          {32, 16, 16, 64, 3, 2, 1},        {1, 28, 28, 6, 5, 1, 0, true, 5},
                          {6, 12, 12, 16, 5, 1, 0, true, 9}};

const Shape odd[] = {
    {3, 9, 11, 5, 3},
    {3, 9, 11, 5, 3, 1, 3},
    {9, 7, 9, 3, 3, 1, 2, false, 17},
    {3, 9, 11, 5, 3, 2},
    {3, 8, 11, 17, 3, 2, 1},
    {2, 9, 12, 5, 3, 2, 2},
    {2, 3, 3, 5, 3, 1, 0},
    {3, 9, 11, 5, 5},
    {7, 9, 11, 5, 5, 1, 2},
    {13, 7, 9, 6, 5, 1, 5},
    {3, 11, 9, 6, 3, 1, 0, true},
    {5, 9, 11, 7, 5, 1, 0, true},
    {1, 2, 150, 3, 3, 1, 1},
    {70, 5, 70, 2, 3, 2, 1, false, 1},
    {1, 70, 3, 18, 3, 1, 1},
    {2, 9, 11, 5, 1},
    {2, 9, 11, 5, 2, 1, 0, true},
    {3, 9, 11, 5, 4, 1, 0, true},
    {3, 9, 11, 5, 4, 2, 3},
    {2, 9, 11, 3, 5, 2, 2},
    {2, 9, 11, 3, 3, 3, 4},
};

}  // namespace

TEST_CASE("blocks: convolutions, dx, dW and db against sums in double precision") {
  // 3.2e-7 of the norm is the most, and in float64 5e-15, of which the check has a part.
  for (const Shape& shape : measured) check<float>(shape, 4e-7);
  for (const Shape& shape : odd) check<float>(shape, 4e-7), check<double>(shape, 1e-14);
}

TEST_CASE("blocks: convolutions have equal bits for any number of threads and of jobs") {
  for (const Shape& shape : odd) {
    using Of = OneLayer<float, ConvolutionSteps>;
    const auto wanted = Of(layer_of(shape), shape.n, 2).compute(1, 1);
    CHECK(Of(layer_of(shape), shape.n, 2).compute(3, 1) == wanted);
    CHECK(Of(layer_of(shape), shape.n, 5).compute(2, 1) == wanted);
  }
}

}  // namespace gradrace::convolution_kernels_test
