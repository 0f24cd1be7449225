#include "models/layers/batch_normalisation.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/layers.h"
#include "tests/support/model_checks.h"

namespace gradrace::batch_normalisation_test {

TEST_CASE("batch_normalisation: two images of two pixels by hand") {
  // Channel 0 has 1, 3 and 2, 6: mean 3, variance (4 + 0 + 1 + 9) / 4 = 3.5.  Channel 1 has 5
  // everywhere.
  const LayerSpec spec = batch_normalisation({2, 1, 2}, 0.9);
  CHECK(spec.learnt == 4);
  CHECK(spec.statistics.count == 4);
  const auto layer = computed(spec, 1, 5);
  Units<double> x(2, 4), y, dx;
  x << 1, 3, 5, 5,  //
      2, 6, 5, 5;
  const Vector w{-7, 10, 20, 2, 3, 0, 0, 0, 0};  // another layer's, b, gamma, statistics
  layer->learn(w.data(), x, y);
  const double sd = std::sqrt(3.5 + 1e-5);
  Units<double> expected(2, 4);
  expected << 10 - 4 / sd, 10, 20, 20,  //
      10 - 2 / sd, 10 + 6 / sd, 20, 20;
  CHECK((y - expected).norm() <= 1e-14 * expected.norm());

  // dy = 1 at the 6 alone: db = 1, dgamma = 3 / sd, dx = 2 / sd (dy - 1/4 - u 3 / sd / 4).
  Units<double> dy = Units<double>::Zero(2, 4);
  dy(1, 1) = 1;
  Vector g(9, 7.0);
  layer->backward(w.data(), x, dy, g.data(), &dx);
  CHECK(distance(Vector{7, 1, 0, 3 / sd, 0, 3, 5, 3.5, 0}, g) <= 1e-14);
  const double q = 3 / (4 * sd * sd);
  Units<double> by_x(2, 4);
  by_x << -0.25 + 2 * q, -0.25, 0, 0,  //
      -0.25 + q, 0.75 - 3 * q, 0, 0;
  by_x *= 2 / sd;
  CHECK((dx - by_x).norm() <= 1e-14);
}

TEST_CASE("batch_normalisation: an evaluation takes the statistics that it is given") {
  const auto layer = computed(batch_normalisation({2, 1, 2}, 0.9), 0, 4);
  Units<double> x(1, 4), y, expected(1, 4);
  x << 1, 3, 5, 9;
  Vector w{10, 20, 2, 3, 1, 5, 4 - 1e-5, 0.25 - 1e-5};
  layer->forward(w.data(), x, y);
  expected << 10, 12, 20, 44;
  CHECK((y - expected).norm() <= 1e-12);
  // Those of a batch give what the batch had.
  const Units<double> images = some_images(3, 4);
  Units<double> learnt;
  layer->learn(w.data(), images, learnt);
  Vector g(8);
  layer->backward(w.data(), images, by_probe(learnt), g.data(), &x);
  std::copy(g.begin() + 4, g.end(), w.begin() + 4);
  layer->forward(w.data(), images, y);
  CHECK((y - learnt).norm() <= 1e-14 * learnt.norm());
}

TEST_CASE("batch_normalisation: derivatives against central differences") {
  for (const auto& [images, n] :
       {std::pair<ImageShape, Eigen::Index>{{3, 2, 3}, 4}, {{1, 1, 3}, 1}, {{2, 1, 1}, 5}}) {
    const auto d = static_cast<Eigen::Index>(2 * images.channels);
    const LayerSpec spec = batch_normalisation(images, 0.9);
    const auto layer = computed(spec, 0, static_cast<std::uint32_t>(d));
    const auto other = computed(spec, 0, static_cast<std::uint32_t>(d));
    const Vector w = some_point(4 * images.channels, 1, 2);
    const Units<double> x = some_images(n, images.numbers());
    const auto learnt = [&](const Vector& point, const Units<double>& at) {
      Units<double> y;
      other->learn(point.data(), at, y);
      return y;
    };
    Units<double> y, dx;
    layer->learn(w.data(), x, y);
    Vector g(w.size());
    layer->backward(w.data(), x, by_probe(y), g.data(), &dx);
    const auto by_x = [&](const Units<double>& at) { return learnt(w, at); };
    CHECK(relative_distance(dx, differences(by_x, x)) <= 1e-7);
    const auto by_w = [&](const Units<double>& at) {
      return learnt({at.data(), at.data() + at.size()}, x);
    };
    const Units<double> dw = differences(by_w, Eigen::Map<const Units<double>>(w.data(), 1, d));
    CHECK(relative_distance(Eigen::Map<const Units<double>>(g.data(), 1, d), dw) <= 1e-8);
  }
}

}  // namespace gradrace::batch_normalisation_test
