#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/one_layer.h"

namespace gradrace::normalisation_kernels_test {

namespace {

using kernels::BatchNormalisationSteps, kernels::Layer;

/// With relu before and after it.
Layer layer_of(const ImageShape& images) {
  Layer layer;
  layer.f = layer.before = Activation::relu;
  layer.channels = layer.outputs = static_cast<std::uint32_t>(images.channels);
  layer.height = layer.out_height = static_cast<std::uint32_t>(images.height);
  layer.width = layer.out_width = static_cast<std::uint32_t>(images.width);
  layer.statistics = 2 * layer.outputs;
  return layer;
}

struct Expected {
  std::vector<double> y, dx, g;  // g: b, gamma, mean, variance
};

/// Channel by channel, with the variance about the mean.
template <class Real>
Expected expected(const kernels::LayerAt<Real>& at) {
  const Layer& layer = at.layer;
  const std::uint32_t count = at.n * layer.pixels(), channels = layer.outputs;
  Expected all{std::vector<double>(count * channels), std::vector<double>(count * channels),
               std::vector<double>(4 * channels)};
  for (std::uint32_t c = 0; c < channels; ++c) {
    const auto number = [&](std::uint32_t i) { return kernels::of_channel(layer, c, i); };
    double mean = 0, variance = 0, db = 0, dgamma = 0;
    for (std::uint32_t i = 0; i < count; ++i) mean += static_cast<double>(at.x[number(i)]) / count;
    for (std::uint32_t i = 0; i < count; ++i)
      variance += std::pow(static_cast<double>(at.x[number(i)]) - mean, 2) / count;
    const double scale = 1 / std::sqrt(variance + kernels::batch_epsilon);
    const auto b = static_cast<double>(at.w[c]), gamma = static_cast<double>(at.w[channels + c]);
    const auto u = [&](std::uint32_t i) {
      return (static_cast<double>(at.x[number(i)]) - mean) * scale;
    };
    const auto dy = [&](std::uint32_t i) { return static_cast<double>(at.by_y[number(i)]); };
    for (std::uint32_t i = 0; i < count; ++i) {
      all.y[number(i)] = std::max(0.0, gamma * u(i) + b);
      db += dy(i), dgamma += dy(i) * u(i);
    }
    for (std::uint32_t i = 0; i < count; ++i)
      if (at.x[number(i)] > 0)
        all.dx[number(i)] = gamma * scale * (dy(i) - db / count - u(i) * dgamma / count);
    const double g[] = {db, dgamma, mean, variance};
    for (std::uint32_t k = 0; k < 4; ++k) all.g[k * channels + c] = g[k];
  }
  return all;
}

template <class Real>
void check(const ImageShape& images, std::uint32_t n, double tolerance) {
  CAPTURE(images.channels);
  CAPTURE(images.height);
  CAPTURE(n);
  OneLayer<Real, BatchNormalisationSteps> layer(layer_of(images), n, 2);
  const kernels::LayerAt<Real> at = layer.at(1);
  const Expected wanted = expected(at);
  layer.forward(1), layer.backward(1);
  Error of_y, of_dx, of_g;
  for (std::uint32_t i = 0; i < wanted.y.size(); ++i)
    of_y.add(at.y[i], wanted.y[i]), of_dx.add(at.by_x[i], wanted.dx[i]);
  for (std::uint32_t i = 0; i < wanted.g.size(); ++i) of_g.add(at.g[i], wanted.g[i]);
  CHECK(of_y.relative() <= tolerance);
  CHECK(of_dx.relative() <= tolerance);
  CHECK(of_g.relative() <= tolerance);
}

const ImageShape shapes[] = {{16, 32, 32}, {64, 8, 8}, {3, 9, 7}, {2, 1, 1}, {1, 70, 70}};

}  // namespace

TEST_CASE("blocks: batch normalisations against sums in double precision") {
  for (const ImageShape& images : shapes) {
    check<float>(images, 9, 2e-7);
    check<double>(images, 9, 1e-14);
  }
}

TEST_CASE("blocks: a variance is as accurate beside a large mean") {
  OneLayer<double, BatchNormalisationSteps> layer(layer_of({2, 9, 7}), 70, 1);
  double* const x = layer.x(0);
  for (std::uint32_t i = 0; i < 2 * 63 * 70; ++i) x[i] += 1e6;  // mean / sd = 1.2e6
  const auto wanted = expected(layer.at(0));
  layer.forward(1);
  const std::span<const double> g(layer.at(0).g, 8);
  for (std::size_t k = 4; k < 8; ++k) CHECK(std::abs(g[k] / wanted.g[k] - 1) <= 1e-9);
}

TEST_CASE("blocks: batch normalisations have equal bits for any number of threads and of jobs") {
  for (const ImageShape& images : shapes) {
    using Of = OneLayer<float, BatchNormalisationSteps>;
    const auto wanted = Of(layer_of(images), 9, 2).compute(1, 1);
    CHECK(Of(layer_of(images), 9, 2).compute(3, 1) == wanted);
    CHECK(Of(layer_of(images), 9, 5).compute(2, 1) == wanted);
  }
}

}  // namespace gradrace::normalisation_kernels_test
