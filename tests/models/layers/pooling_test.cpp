#include "models/layers/pooling.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/support/layers.h"

namespace gradrace::pooling_test {

static Units<double> pooled(CpuLayer<double>& layer, const Units<double>& x) {
  Units<double> y;
  layer.forward(nullptr, x, y);
  return y;
}

TEST_CASE("pooling: windows over the edge have what is there, by hand") {
  //  1  2  3  4
  //  5  6  7  8
  //  9 16 15 10
  // 11 12 13 14
  Units<double> x(1, 16), greatest(1, 4), mean(1, 4);
  x << 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 15, 10, 11, 12, 13, 14;
  const auto most = computed(greatest_pooling({1, 4, 4})),
             middle = computed(mean_pooling({1, 4, 4}));
  greatest << 16, 15, 16, 15;
  mean << 64.0 / 9, 47.0 / 6, 76.0 / 6, 52.0 / 4;
  CHECK(pooled(*most, x) == greatest);
  CHECK((pooled(*middle, x) - mean).norm() <= 1e-14);

  // The 16 wins twice, and so does the 15; a mean's pixels share alike.
  Units<double> dy(1, 4), dx;
  dy << 1, 10, 100, 1000;
  most->backward(nullptr, x, dy, nullptr, &dx);
  Units<double> expected = Units<double>::Zero(1, 16);
  expected(0, 9) = 101, expected(0, 10) = 1010;
  CHECK(dx == expected);
  middle->backward(nullptr, x, dy, nullptr, &dx);
  CHECK(dx(0, 0) == doctest::Approx(1 / 9.0));
  CHECK(dx(0, 2) == doctest::Approx(1 / 9.0 + 10 / 6.0));
  CHECK(dx(0, 10) == doctest::Approx(1 / 9.0 + 10 / 6.0 + 100 / 6.0 + 1000 / 4.0));
  CHECK(dx(0, 15) == doctest::Approx(1000 / 4.0));
}

TEST_CASE("pooling: sizes are Caffe's, ceil((n - 3) / 2) + 1") {
  const std::pair<std::size_t, std::size_t> sizes[] = {{2, 1}, {3, 1}, {4, 2},  {5, 2},
                                                       {6, 3}, {7, 3}, {16, 8}, {32, 16}};
  for (const auto& [length, expected] : sizes) {
    const ImageShape output = mean_pooling({5, length, 4}).output();
    CHECK(output.channels == 5);
    CHECK(output.height == expected);
    CHECK(output.width == 2);
  }
  CHECK_THROWS_WITH_AS(mean_pooling({1, 1, 4}),
                       "pooling 3 wide needs images of 2 x 2 or more, and gets 1 x 4",
                       std::runtime_error);
}

TEST_CASE("pooling: derivatives against central differences") {
  for (const auto pooling : {greatest_pooling, mean_pooling}) {
    for (const ImageShape& images : {ImageShape{2, 5, 4}, {1, 2, 2}, {3, 7, 6}}) {
      const auto layer = computed(pooling(images)), other = computed(pooling(images));
      const Units<double> x = some_images(3, images.numbers());
      Units<double> dx;
      layer->backward(nullptr, x, by_probe(pooled(*layer, x)), nullptr, &dx);
      const auto f = [&](const Units<double>& at) { return pooled(*other, at); };
      CHECK(relative_distance(dx, differences(f, x)) <= 1e-8);
    }
  }
}

TEST_CASE("pooling: the first of equal numbers wins, and NaN propagates") {
  const auto layer = computed(greatest_pooling({1, 3, 3}));
  const Units<double> ones = Units<double>::Ones(1, 9);
  Units<double> dx;
  pooled(*layer, ones);
  layer->backward(nullptr, ones, Units<double>::Ones(1, 1), nullptr, &dx);
  CHECK(dx(0, 0) == 1);
  CHECK(dx.sum() == 1);
  for (Eigen::Index place = 0; place < 9; ++place) {
    Units<double> x = Units<double>::Ones(1, 9);
    x(0, place) = std::numeric_limits<double>::quiet_NaN();
    CHECK(std::isnan(pooled(*layer, x)(0, 0)));
  }
}

}  // namespace gradrace::pooling_test
