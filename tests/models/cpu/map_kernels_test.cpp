#include "models/cpu/kernels/map_kernels.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "models/cpu/kernels/kernels.h"
#include "models/layers/batch_normalisation.h"
#include "models/layers/pixel_mean.h"
#include "models/layers/pooling.h"
#include "models/layers/response_normalisation.h"
#include "tests/support/forced_kernels.h"
#include "tests/support/layers.h"
#include "tests/support/model_checks.h"

namespace gradrace::map_kernels_test {

namespace {

using kernels::runnable_kernels;

/// What a layer gives of some images: a gradient's and an evaluation's y, g and dx.
template <class Real>
struct Passes {
  Units<Real> learnt, evaluated, g, dx;
};

template <class Real>
Passes<Real> passes(const LayerSpec& spec, Eigen::Index n, double scale, double shift) {
  std::unique_ptr<CpuLayer<Real>> layer;
  if constexpr (sizeof(Real) == 4)
    layer = spec.make_float32(spec);
  else
    layer = spec.make_float64(spec);
  const auto images = [&](std::size_t numbers, double phase) {
    return Units<float>(some_images(n, numbers, phase).cast<float>()).template cast<Real>().eval();
  };
  const std::size_t channels = spec.kernel.channels;
  const Units<Real> x = static_cast<Real>(scale) * images(spec.input().numbers(), 1).array() +
                        static_cast<Real>(shift);
  Units<Real> w = Units<Real>::Ones(static_cast<Eigen::Index>(4 * channels), 1);
  for (Eigen::Index i = 0; i < w.size(); ++i) w(i) += static_cast<Real>(i % 7) / 8;
  Passes<Real> found;
  layer->forward(w.data(), x, found.evaluated);
  layer->learn(w.data(), x, found.learnt);
  found.g.setZero(w.rows(), 1);
  layer->backward(w.data(), x, images(spec.output().numbers(), 5), found.g.data(), &found.dx);
  return found;
}

/// By how much float32 may differ, of the greatest number.
bool near(const Units<float>& found, const Units<double>& exact, double tolerance) {
  return (found.cast<double>() - exact).cwiseAbs().maxCoeff() <=
         tolerance * exact.cwiseAbs().maxCoeff();
}

struct Case {
  LayerSpec spec;
  double scale, shift;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const ImageShape& images :
       {ImageShape{3, 8, 8}, {2, 5, 7}, {1, 2, 2}, {2, 3, 4}, {1, 9, 3}, {4, 1, 1}, {2, 4, 1}}) {
    LayerSpec normalisation = batch_normalisation(images, 0.9);
    normalisation.kernel.statistics = static_cast<std::uint32_t>(2 * images.channels);
    all.push_back({normalisation, 3, 0.5});
    all.push_back({response_normalisation(images), 300, 20});
    all.push_back({pixel_mean(images), 1, 0.5});
    if (images.height < 2 || images.width < 2) continue;
    all.push_back({greatest_pooling(images), 1, 0});
    all.push_back({mean_pooling(images), 1, 0.5});
  }
  return all;
}

const Eigen::Index numbers_of_images[] = {3, 5, 16, 21, 32, 53};

}  // namespace

TEST_CASE("map kernels: float32 agrees with the definitions in float64 on every instruction set") {
  for (const Case& c : cases()) {
    for (const Eigen::Index n : numbers_of_images) {
      const auto exact = passes<double>(c.spec, n, c.scale, c.shift);
      CAPTURE(n);
      CAPTURE(c.spec.kernel.height);
      CAPTURE(static_cast<int>(c.spec.kernel.kind));
      for (const kernels::Kernels* const kernels : runnable_kernels()) {
        const std::string name(kernels->name);
        CAPTURE(name);
        const Forced forced(name);
        const auto found = passes<float>(c.spec, n, c.scale, c.shift);
        CHECK(near(found.learnt, exact.learnt, 2e-6));
        CHECK(near(found.evaluated, exact.evaluated, 2e-6));
        CHECK(near(found.dx, exact.dx, 5e-6));
        CHECK(near(found.g, exact.g, 5e-6));
      }
    }
  }
}

TEST_CASE("map kernels: instruction sets that fuse give the same bits") {
  for (const Case& c : cases()) {
    for (const Eigen::Index n : numbers_of_images) {
      const auto best = passes<float>(c.spec, n, c.scale, c.shift);
      for (const kernels::Kernels* const kernels : runnable_kernels()) {
        if (kernels->fused != runnable_kernels().front()->fused) continue;
        const Forced forced(kernels->name);
        const auto found = passes<float>(c.spec, n, c.scale, c.shift);
        CHECK(found.learnt == best.learnt);
        CHECK(found.evaluated == best.evaluated);
        CHECK(found.dx == best.dx);
        CHECK(found.g == best.g);
      }
    }
  }
}

TEST_CASE("map kernels: an image that is pooled does not depend on those beside it") {
  for (const Case& c : cases()) {
    if (c.spec.statistics.count > 0) continue;  // which a batch shares
    const auto all = passes<float>(c.spec, 53, c.scale, c.shift);
    const std::unique_ptr<CpuLayer<float>> layer = c.spec.make_float32(c.spec);
    const Units<float> x = static_cast<float>(c.scale) *
                               some_images(53, c.spec.input().numbers()).cast<float>().array() +
                           static_cast<float>(c.shift);
    for (const Eigen::Index n : numbers_of_images) {
      Units<float> y;
      layer->forward(nullptr, x.topRows(n), y);
      CHECK(y == all.learnt.topRows(n));
    }
  }
}

TEST_CASE("map kernels: the first of equal numbers wins, and NaN propagates") {
  for (const kernels::Kernels* const kernels : runnable_kernels()) {
    const Forced forced(kernels->name);
    const LayerSpec spec = greatest_pooling({1, 3, 3});
    const std::unique_ptr<CpuLayer<float>> layer = spec.make_float32(spec);
    const Units<float> ones = Units<float>::Ones(20, 9);
    Units<float> y, dx;
    layer->forward(nullptr, ones, y);
    layer->backward(nullptr, ones, Units<float>::Ones(20, 1), nullptr, &dx);
    CHECK(dx.col(0).sum() == 20);
    CHECK(dx.sum() == 20);
    for (Eigen::Index place = 0; place < 9; ++place) {
      Units<float> x = ones;
      x(17, place) = std::numeric_limits<float>::quiet_NaN();
      layer->forward(nullptr, x, y);
      CHECK(std::isnan(y(17, 0)));
      CHECK(y(16, 0) == 1);
    }
  }
}

}  // namespace gradrace::map_kernels_test
