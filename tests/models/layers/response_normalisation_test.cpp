#include "models/layers/response_normalisation.h"

#include <doctest/doctest.h>

#include "tests/support/layers.h"

namespace gradrace::response_normalisation_test {

static Units<double> normalised(CpuLayer<double>& layer, const Units<double>& x) {
  Units<double> y;
  layer.forward(nullptr, x, y);
  return y;
}

TEST_CASE("response_normalisation: 2 x 3 pixels of two channels by hand") {
  // Channel 0: 100 200 0 / 0 300 400; sums of squares around: in units of 1e4,
  //   1 + 4 + 9 = 14, 1 + 4 + 9 + 16 = 30, 4 + 9 + 16 = 29, and the same below.
  // Channel 1: one pixel of 600 in the corner, seen by its neighbours, which are 0.
  Units<double> x(1, 12), expected(1, 12);
  x << 100, 200, 0, 0, 300, 400, 600, 0, 0, 0, 0, 0;
  const auto s = [](double squares) {
    return std::pow(1 + 5e-5 / 9 * squares * 1e4, -0.75);  // 14e4: 1.7777...
  };
  expected << 100 * s(14), 200 * s(30), 0, 0, 300 * s(30), 400 * s(29), 600 * s(36), 0, 0, 0, 0, 0;
  const auto layer = computed(response_normalisation({2, 2, 3}));
  CHECK((normalised(*layer, x) - expected).norm() <= 1e-12 * expected.norm());
  // 1 + 5e-5 / 9 x 14e4 = 16 / 9, whose power -3/4 is (3 / 4)^1.5.
  CHECK(normalised(*layer, x)(0, 0) == doctest::Approx(100 * std::pow(0.75, 1.5)).epsilon(1e-14));
}

TEST_CASE("response_normalisation: derivatives against central differences") {
  for (const ImageShape& images : {ImageShape{2, 4, 5}, {1, 1, 1}, {3, 2, 3}, {1, 1, 4}}) {
    const auto layer = computed(response_normalisation(images));
    const auto other = computed(response_normalisation(images));
    const Units<double> x = 300 * some_images(3, images.numbers());
    Units<double> dx;
    const Units<double> y = normalised(*layer, x);
    layer->backward(nullptr, x, by_probe(y), nullptr, &dx);
    const auto f = [&](const Units<double>& at) { return normalised(*other, 300 * at); };
    CHECK(relative_distance(300 * dx, differences(f, x / 300)) <= 1e-8);
  }
}

}  // namespace gradrace::response_normalisation_test
