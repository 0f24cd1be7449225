#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "models/layers/convolution.h"
#include "models/layers/cpu_layer.h"
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
  Check(const Shape& shape, double tolerance, bool tf32x3)
      : shape_(shape),
        layer_(layer_of(shape), shape.n, 2, tf32x3),
        at_(layer_.at(1)),
        of_(layer_.layer()) {
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
void check(const Shape& shape, double tolerance, bool tf32x3 = false) {
  CAPTURE(shape.channels);
  CAPTURE(shape.height);
  CAPTURE(shape.width);
  CAPTURE(shape.outputs);
  CAPTURE(shape.kernel);
  CAPTURE(shape.stride);
  CAPTURE(shape.padding);
  CAPTURE(shape.pools);
  Check<Real>(shape, tolerance, tf32x3);
}

/// A layer that pools, all of whose numbers are whole and small, so that every sum is exact and
/// most windows have several greatest numbers; and what the first of them in reading order gives.
class Ties {
 public:
  explicit Ties(const Shape& shape) : shape_(shape), layer_(layer_of(shape)), of_(layer_) {
    layer_.f = layer_.before = Activation::identity, layer_.adds = false;
    for (std::uint32_t i = 0; i < shape.n * layer_.inputs(); ++i) x_.push_back(whole(i, 1));
    for (std::uint32_t i = 0; i < layer_.weights() + layer_.outputs; ++i)
      w_.push_back(i < layer_.weights() ? whole(i, 2) : 0);
    for (std::uint32_t i = 0; i < shape.n * layer_.units(); ++i) dy_.push_back(whole(i, 3));
    std::vector<double> z(shape.n * shape.outputs * of_.z_height * of_.z_width), dz(z.size());
    each_product(shape, layer_, [&](std::uint32_t to, std::uint32_t x, std::uint32_t w) {
      z[to] += x_[x] * w_[w];
    });
    for (std::uint32_t i = 0; i < dy_.size(); ++i) {
      const kernels::Pixel pixel(layer_, i);
      const std::uint32_t first =
          ((pixel.row * shape.outputs + pixel.channel) * of_.z_height + 2 * pixel.i) * of_.z_width +
          2 * pixel.j;
      const double of_window[] = {z[first], z[first + 1], z[first + of_.z_width],
                                  z[first + of_.z_width + 1]};
      const auto winner = std::ranges::max_element(of_window) - of_window;  // the first
      const auto next = std::find(of_window + winner + 1, of_window + 4, of_window[winner]);
      if (next != of_window + 4) ++pairs_[winner][next - of_window];
      winners_.push_back(static_cast<std::uint32_t>(winner));
      dz[first + winners_[i] / 2 * of_.z_width + winners_[i] % 2] = dy_[i];
    }
    dx_.resize(x_.size()), dW_.resize(layer_.weights());
    each_product(shape, layer_, [&](std::uint32_t from, std::uint32_t x, std::uint32_t w) {
      dx_[x] += dz[from] * w_[w], dW_[w] += dz[from] * x_[x];
    });
  }

  /// Windows whose first greatest numbers are in places a and b.
  int pairs(std::size_t a, std::size_t b) const { return pairs_[a][b]; }

  template <class Real>
  void check_blocks(std::uint32_t threads) const {
    OneLayer<Real, ConvolutionSteps> layer(layer_, shape_.n, 1);
    const kernels::LayerAt<Real> at = layer.at(0);
    std::ranges::copy(x_, layer.x(0)), std::ranges::copy(w_, layer.w(0));
    std::ranges::copy(dy_, at.by_y);
    layer.forward(threads), layer.backward(threads);
    CHECK(std::equal(winners_.begin(), winners_.end(), at.kept,
                     [](std::uint32_t a, Real b) { return a == static_cast<std::uint32_t>(b); }));
    CHECK(std::equal(dx_.begin(), dx_.end(), at.by_x));
    CHECK(std::equal(dW_.begin(), dW_.end(), at.g));
  }
  template <class Real>
  void check_cpu(CpuLayer<Real>& layer) const {
    const auto units = [&](const std::vector<double>& numbers) {
      const auto n = static_cast<Eigen::Index>(shape_.n);
      const auto of_row = static_cast<Eigen::Index>(numbers.size()) / n;
      return Units<Real>(
          Eigen::Map<const RowMajor<double>>(numbers.data(), n, of_row).cast<Real>());
    };
    const std::vector<Real> w(w_.begin(), w_.end());
    std::vector<Real> g(w.size());
    const Units<Real> x = units(x_);
    Units<Real> y, dx;
    layer.forward(w.data(), x, y);
    layer.backward(w.data(), x, units(dy_), g.data(), &dx);
    CHECK(dx == units(dx_));
    CHECK(std::equal(dW_.begin(), dW_.end(), g.begin()));
  }
  void check_cpu() const {
    const LayerSpec spec = convolution({shape_.channels, shape_.height, shape_.width},
                                       shape_.outputs, shape_.kernel, 1);
    check_cpu(*spec.make_float32(spec)), check_cpu(*spec.make_float64(spec));
  }

 private:
  static double whole(std::uint32_t i, std::uint32_t stream) {
    return std::round(some_number(0, i, stream));
  }

  Shape shape_;
  Layer layer_;
  ConvolvedShape of_;
  std::vector<double> x_, w_, dy_, dx_, dW_;
  std::vector<std::uint32_t> winners_;
  int pairs_[4][4] = {};
};

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

// Of more than four maps and eight, that tiles of 16 x 8 take.
const Shape of_tiles[] = {{16, 32, 32, 16, 3, 1, 1},
                          {32, 16, 16, 32, 3, 1, 1},
                          {64, 8, 8, 64, 3, 1, 1},
                          {6, 12, 12, 16, 5, 1, 0, true, 9},
                          {9, 9, 11, 10, 3, 1, 2, false, 17},
                          {9, 11, 10, 12, 3, 1, 0, true},
                          {13, 7, 9, 70, 5, 1, 2},
                          {9, 5, 70, 9, 3, 1, 1},
                          {130, 4, 3, 9, 3, 1, 0}};

}  // namespace

TEST_CASE("blocks: convolutions by parts of TF32 against sums in double precision") {
  // 5.6e-7 with up to 64 input channels of 3 x 3, 1.06e-6 with 70 of 5 x 5.  A GPU's units round
  // their sums otherwise: 1e-6 with 16 input channels, 3.7e-6 with 64, were measured there.
  for (const Shape& shape : of_tiles) check<float>(shape, 1.2e-6, true);
}

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
  for (const Shape& shape : {of_tiles[4], of_tiles[5]}) {
    using Of = OneLayer<float, ConvolutionSteps>;
    const auto wanted = Of(layer_of(shape), shape.n, 2, true).compute(1, 1);
    CHECK(Of(layer_of(shape), shape.n, 2, true).compute(3, 1) == wanted);
    CHECK(Of(layer_of(shape), shape.n, 5, true).compute(2, 1) == wanted);
  }
}

TEST_CASE("blocks: of equal numbers of a window the first in reading order wins, as on the CPU") {
  for (const std::uint32_t kernel : {2u, 3u, 5u}) {
    CAPTURE(kernel);
    const Ties ties({2, 13, 12, 7, kernel, 1, 0, true, 9});
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = a + 1; b < 4; ++b) CHECK(ties.pairs(a, b) > 9);
    ties.check_cpu();
    ties.check_blocks<float>(1), ties.check_blocks<float>(3), ties.check_blocks<double>(1);
  }
}

}  // namespace gradrace::convolution_kernels_test
