#include "models/layers/group_normalisation.h"

#include <doctest/doctest.h>

#include "tests/support/layers.h"
#include "tests/support/model_checks.h"

namespace gradrace::group_normalisation_test {

TEST_CASE("group_normalisation: two images of four channels in two groups by hand") {
  // Image 0: group 0 has 1, 3 (mean 2, variance 1), group 1 has 5, 5.  Image 1: 2, 8 (mean 5,
  // variance 9) and 0, 4 (mean 2, variance 4).
  const LayerSpec spec = group_normalisation({4, 1, 1}, 2);
  CHECK(spec.learnt == 8);
  CHECK(spec.statistics.count == 0);
  const auto layer = computed(spec, 1);
  Units<double> x(2, 4), y, expected(2, 4);
  x << 1, 3, 5, 5,  //
      2, 8, 0, 4;
  const Vector w{-7, 10, 20, 30, 40, 1, 2, 3, 4};  // another layer's, b, gamma
  layer->forward(w.data(), x, y);
  const double one = std::sqrt(1 + 1e-5), three = std::sqrt(9 + 1e-5), two = std::sqrt(4 + 1e-5);
  expected << 10 - 1 / one, 20 + 2 / one, 30, 40,  //
      10 - 3 / three, 20 + 6 / three, 30 - 6 / two, 40 + 8 / two;
  CHECK((y - expected).norm() <= 1e-14 * expected.norm());
}

TEST_CASE("group_normalisation: groups are the greatest divisor of the channels up to so many") {
  const auto groups = [](std::size_t channels, std::size_t most) {
    return kernels::groups(group_normalisation({channels, 2, 2}, most).kernel);
  };
  CHECK(groups(16, 32) == 16);
  CHECK(groups(32, 32) == 32);
  CHECK(groups(64, 32) == 32);
  CHECK(groups(48, 32) == 24);
  CHECK(groups(7, 4) == 1);
  CHECK(groups(6, 4) == 3);
}

TEST_CASE("group_normalisation: an image does not depend on those beside it") {
  const auto layer = computed(group_normalisation({6, 2, 3}, 3));
  const Vector w = some_point(12, 1, 2);
  const Units<double> x = some_images(5, 36);
  Units<double> all, one;
  layer->forward(w.data(), x, all);
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    layer->forward(w.data(), x.row(i), one);
    CHECK(one == all.row(i));
  }
}

TEST_CASE("group_normalisation: derivatives against central differences") {
  const struct {
    ImageShape images;
    std::size_t groups;
    Eigen::Index n;
  } cases[] = {{{4, 2, 3}, 2, 4}, {{3, 1, 3}, 3, 1}, {{6, 1, 1}, 2, 5}, {{2, 3, 2}, 1, 3}};
  for (const auto& [images, groups, n] : cases) {
    const LayerSpec spec = group_normalisation(images, groups);
    const auto layer = computed(spec), other = computed(spec);
    const Vector w = some_point(spec.learnt, 1, 2);
    const Units<double> x = some_images(n, images.numbers());
    Units<double> y, dx;
    layer->learn(w.data(), x, y);
    Vector g(w.size(), 7.0);
    layer->backward(w.data(), x, by_probe(y), g.data(), &dx);
    const auto by_x = [&](const Units<double>& at) {
      Units<double> z;
      other->forward(w.data(), at, z);
      return z;
    };
    CHECK(relative_distance(dx, differences(by_x, x)) <= 1e-7);
    const auto by_w = [&](const Units<double>& at) {
      Units<double> z;
      other->forward(at.data(), x, z);
      return z;
    };
    const auto d = static_cast<Eigen::Index>(w.size());
    const Units<double> dw = differences(by_w, Eigen::Map<const Units<double>>(w.data(), 1, d));
    CHECK(relative_distance(Eigen::Map<const Units<double>>(g.data(), 1, d), dw) <= 1e-8);
  }
}

}  // namespace gradrace::group_normalisation_test
