#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/gpu/kernels/convolution_weights.h"
#include "models/gpu/mirror.h"
#include "tests/support/emulated_blocks.h"

namespace gradrace::convolution_kernels_test {

namespace {

using kernels::Layer, kernels::Way;

struct Shape {
  std::uint32_t channels, height, width, outputs, kernel, stride = 1, padding = 0;
  bool pools = false;
  std::uint32_t n = 3;
};

std::uint32_t convolved(std::uint32_t length, const Shape& shape) {
  const std::uint32_t z = (length + 2 * shape.padding - shape.kernel) / shape.stride + 1;
  return shape.pools ? z / 2 : z;
}

/// relu before it and after, and b; on the way back it adds.
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
  std::uint32_t next = 0;
  const auto place = [&](std::uint32_t numbers) {
    const std::uint32_t at = next;
    next += kernels::in_fours(numbers);
    return at;
  };
  layer.x = place(layer.inputs()), layer.by_x = place(layer.inputs());
  layer.y = place(layer.units()), layer.kept = place(layer.units());
  layer.by_y = place(layer.units());
  return layer;
}

/// Numbers of (-1.5, 1.5).
double number(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t h =
      (a * 0x9E3779B1u) ^ ((b + 0x7F4A7C15u) * 0x85EBCA77u) ^ ((c + 0x165667B1u) * 0xC2B2AE3Du);
  h = (h ^ h >> 16) * 0x7feb352du;
  h = (h ^ h >> 15) * 0x846ca68bu;
  h ^= h >> 16;
  return (static_cast<double>(h % 4001) - 2000) / 1333 * (1 + h / 4294967296.0 / 512);
}

/// Jobs of a pass of one layer, with all their numbers.
template <class Real>
class Jobs {
 public:
  Jobs(const Shape& shape, std::uint32_t count)
      : layer_(layer_of(shape)), count_(count), at_w_(count), at_g_(count) {
    pass_.n = shape.n, pass_.together = count;
    pass_.work_stride = std::uint64_t{shape.n} * (layer_.by_y + kernels::in_fours(layer_.units()));
    kernels::with_weight_parts(pass_, layer_, [&](const auto& kernel) {
      pass_.parts_stride = kernels::in_fours(kernel.parts() * layer_.weights());
    });
    const std::uint32_t parameters = layer_.weights() + layer_.outputs;
    work_.resize(count * pass_.work_stride), parts_.resize(count * pass_.parts_stride);
    w_.resize(count * parameters), g_.resize(count * parameters);
    pass_.work = work_.data(), pass_.parts = parts_.data();
    pass_.w = at_w_.data(), pass_.g = at_g_.data();
    for (std::uint32_t job = 0; job < count; ++job) {
      at_w_[job] = w_.data() + job * parameters, at_g_[job] = g_.data() + job * parameters;
      fill(job, layer_.x, layer_.inputs(),
           [=](std::uint32_t i) { return std::max(0.0, number(job, i, 1)); });
      fill(job, layer_.by_x, layer_.inputs(),
           [=](std::uint32_t i) { return 0.01 * number(job, i, 4); });
      fill(job, layer_.by_y, layer_.units(),
           [=](std::uint32_t i) { return 0.01 * number(job, i, 2); });
      for (std::uint32_t i = 0; i < parameters; ++i)
        w_[job * parameters + i] = static_cast<Real>(0.1 * number(job, i, 3));
    }
  }

  const Layer& layer() const { return layer_; }
  kernels::LayerAt<Real> at(std::uint32_t job) const { return pass_.at(layer_, job); }

  template <Way way>
  void convolve(std::uint32_t threads) {
    kernels::with_convolution<way>(pass_, layer_,
                                   [&](const auto& kernel) { launch(threads, kernel); });
  }
  void add_up_weights(std::uint32_t threads) {
    kernels::with_weight_parts(pass_, layer_, [&](const auto& kernel) {
      launch(threads, kernel);
      launch(threads, kernels::AddPartsKernel<Real>(pass_, layer_, kernel.parts()));
    });
  }
  /// All that the three write, of the second job.
  std::vector<Real> compute(std::uint32_t threads) {
    add_up_weights(threads);
    convolve<Way::back>(threads);
    convolve<Way::forward>(threads);
    std::vector<Real> all(at(1).g, at(1).g + layer_.weights());
    all.insert(all.end(), work_.data() + pass_.work_stride, work_.data() + 2 * pass_.work_stride);
    return all;
  }

 private:
  template <class Numbers>
  void fill(std::uint32_t job, std::uint32_t place, std::uint32_t count, const Numbers& numbers) {
    Real* const to = work_.data() + job * pass_.work_stride + place * pass_.n;
    for (std::uint32_t i = 0; i < pass_.n * count; ++i) to[i] = static_cast<Real>(numbers(i));
  }
  template <class Kernel>
  void launch(std::uint32_t threads, const Kernel& kernel) {
    EmulatedBlocks blocks(threads, EmulatedBlocks::most_shared_memory,
                          threads > 1 ? Execution::side_by_side : Execution::at_call);
    launch_all(blocks, kernel, count_ * kernel.blocks());
    blocks.wait();
  }

  Layer layer_;
  std::uint32_t count_;
  std::vector<Real> work_, parts_, w_, g_;
  std::vector<const Real*> at_w_;
  std::vector<Real*> at_g_;
  kernels::Pass<Real> pass_{};
};

/// Calls f(number of z, of x, of W) for each product of a row's sums z = W * x.
template <class Use>
void each_product(const Shape& shape, const Layer& layer, const Use& use) {
  const kernels::ConvolvedShape of(layer);
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

/// What is computed, and what was expected.
class Difference {
 public:
  void add(double found, double wanted) {
    of_difference_ += (found - wanted) * (found - wanted), of_wanted_ += wanted * wanted;
  }
  double relative() const { return std::sqrt(of_difference_ / of_wanted_); }

 private:
  double of_difference_ = 0, of_wanted_ = 0;
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
  Jobs<Real> jobs(shape, 2);
  const Layer& layer = jobs.layer();
  const kernels::ConvolvedShape of(layer);
  const std::uint32_t job = 1;
  const kernels::LayerAt<Real> at = jobs.at(job);
  std::vector<double> z(shape.n * shape.outputs * of.z_height * of.z_width);
  each_product(shape, layer, [&](std::uint32_t to, std::uint32_t x, std::uint32_t w) {
    z[to] += static_cast<double>(at.x[x]) * static_cast<double>(at.W()[w]);
  });
  jobs.template convolve<Way::forward>(1);
  Difference of_y;
  for (std::uint32_t i = 0; i < shape.n * layer.units(); ++i) {
    const kernels::Pixel pixel(layer, i);
    const std::uint32_t plane = pixel.row * shape.outputs + pixel.channel;
    double best = -1e300;
    for (std::uint32_t k = 0; k < (shape.pools ? 4 : 1); ++k) {
      const std::uint32_t factor = shape.pools ? 2 : 1;
      const double value = z[(plane * of.z_height + factor * pixel.i + k / 2) * of.z_width +
                             factor * pixel.j + k % 2];
      if (shape.pools && static_cast<std::uint32_t>(at.kept[i]) == k) CHECK(value >= best - 1e-5);
      best = std::max(best, value);
    }
    const double b = static_cast<double>(at.b()[pixel.channel]);
    of_y.add(static_cast<double>(at.y[i]), std::max(0.0, best + b));
  }
  CHECK(of_y.relative() <= tolerance);

  std::vector<double> dx(shape.n * layer.inputs()), dW(layer.weights());
  const kernels::Maps<Real> maps = kernels::maps_of_dz(at);
  std::vector<double> dz(z.size());
  for (std::uint32_t i = 0; i < dz.size(); ++i)
    dz[i] = static_cast<double>(maps(i / of.z_width / of.z_height / shape.outputs,
                                     i / of.z_width / of.z_height % shape.outputs,
                                     i / of.z_width % of.z_height, i % of.z_width));
  each_product(shape, layer, [&](std::uint32_t from, std::uint32_t x, std::uint32_t w) {
    dx[x] += dz[from] * static_cast<double>(at.W()[w]);
    dW[w] += dz[from] * static_cast<double>(at.x[x]);
  });
  std::vector<double> was(at.by_x, at.by_x + dx.size());
  jobs.template convolve<Way::back>(1);
  jobs.add_up_weights(1);
  Difference of_dx, of_dW;
  for (std::uint32_t i = 0; i < dx.size(); ++i) {
    const double share = at.x[i] > 0 ? dx[i] : 0;
    of_dx.add(static_cast<double>(at.by_x[i]), was[i] + share);
  }
  for (std::uint32_t i = 0; i < dW.size(); ++i) of_dW.add(static_cast<double>(at.g[i]), dW[i]);
  CHECK(of_dx.relative() <= tolerance);
  CHECK(of_dW.relative() <= tolerance);
}

// ResNets for CIFAR-10, and LeNet.
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

TEST_CASE("blocks: convolutions, dx and dW against sums in double precision") {
  for (const Shape& shape : measured) check<float>(shape, 4e-7);  // 3e-7 of their norm is the most
  for (const Shape& shape : odd) check<float>(shape, 4e-7), check<double>(shape, 2e-15);
}

TEST_CASE("blocks: convolutions have equal bits for any number of threads and of jobs") {
  for (const Shape& shape : odd) {
    const auto wanted = Jobs<float>(shape, 2).compute(1);
    CHECK(Jobs<float>(shape, 2).compute(3) == wanted);
    CHECK(Jobs<float>(shape, 5).compute(2) == wanted);
  }
}

}  // namespace gradrace::convolution_kernels_test
