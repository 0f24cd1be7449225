#include "models/sampling/augmentation.h"

#include <doctest/doctest.h>

#include "models/resnet.h"
#include "models/sampling/cut.h"
#include "sim/random.h"
#include "tests/support/model_checks.h"

namespace gradrace::augmentation_test {

/// Images of which every number is another one, from 1.
static RowMajor<double> numbered(std::size_t m, const ImageShape& images) {
  RowMajor<double> x(static_cast<Eigen::Index>(m), static_cast<Eigen::Index>(images.numbers()));
  for (Eigen::Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<double>(i + 1);
  return x;
}

TEST_CASE("augmentation: a crop of the padded image, mirrored or not, as the streams say") {
  for (const ImageShape& images : {ImageShape{2, 6, 9}, {1, 3, 2}, {3, 1, 1}}) {
    const MinibatchName name{7, 3, 11, 5, 33};
    RowMajor<double> x = numbered(name.size, images);
    const RowMajor<double> before = x;
    augment(name, images, x);
    for (std::uint32_t r = 0; r < name.size; ++r) {
      const auto word = [&](Purpose purpose, std::uint32_t i) {
        return philox_block({7, 3, purpose, 11, 5}, i / 4)[i % 4];
      };
      const double scale = 9 / 4294967296.0;
      const int top = static_cast<int>(word(Purpose::crop, 2 * r) * scale) - 4;
      const int left = static_cast<int>(word(Purpose::crop, 2 * r + 1) * scale) - 4;
      const bool mirrored = word(Purpose::flip, r) / 4294967296.0 >= 0.5;
      const int height = static_cast<int>(images.height), width = static_cast<int>(images.width);
      for (int c = 0; c < static_cast<int>(images.channels); ++c) {
        for (int i = 0; i < height; ++i) {
          for (int j = 0; j < width; ++j) {
            const int row = i + top, column = (mirrored ? width - 1 - j : j) + left;
            const bool inside = row >= 0 && row < height && column >= 0 && column < width;
            const double expected = inside ? before(r, (c * height + row) * width + column) : 0;
            CHECK(x(r, (c * height + i) * width + j) == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("augmentation: 81 crops and two sides, all alike") {
  // Where the 1 of 3, 1, 2 in the middle of 9 x 9 comes to lie, and on which side the 2: 16,200
  // images of 162 cells; chi-square with 161 degrees of freedom, bound at p = 1e-4: 235.
  const ImageShape images{1, 9, 9};
  std::vector<double> counts(162);
  for (std::uint32_t draw = 0; draw < 162; ++draw) {
    RowMajor<double> x = RowMajor<double>::Zero(100, 81);
    x.col(39).setConstant(3), x.col(40).setConstant(1), x.col(41).setConstant(2);
    augment({1, 0, 0, draw, 100}, images, x);
    for (Eigen::Index r = 0; r < 100; ++r) {
      Eigen::Index at = 0;
      while (x(r, at) != 1) ++at;
      const bool mirrored = at % 9 < 8 ? x(r, at + 1) == 3 : x(r, at - 1) == 2;
      ++counts.at(static_cast<std::size_t>(2 * at + mirrored));
    }
  }
  double chi2 = 0;
  for (const double count : counts) chi2 += (count - 100) * (count - 100) / 100;
  CHECK(chi2 <= 235);
}

TEST_CASE("augmentation: a gradient is that of the images moved, an evaluation of those at rest") {
  const auto data =
      synthetic(R"("rows": 40, "test_rows": 9, "features": 72, "height": 6, "width": 6)");
  auto config = on<ResnetConfig>(data);
  config.depth = 8;
  config.width = 2;
  const auto plain = make_resnet(config)->make_float32();
  config.augment = true;
  const auto moved = make_resnet(config)->make_float32();
  const Vector point = some_value(*plain);
  const std::vector<float> w(point.begin(), point.end());
  CHECK(evaluate(*plain, w).loss == evaluate(*moved, w).loss);
  CHECK(evaluate(*plain, w).test_loss == evaluate(*moved, w).test_loss);
  const MinibatchName name{1, 0, 2, 3, 16};
  const auto g = gradient(*moved, w, name);
  CHECK(g != gradient(*plain, w, name));
  gradient(*moved, w, {1, 0, 2, 4, 20});
  CHECK(gradient(*moved, w, name) == g);
}

TEST_CASE("augmentation: rows of pixels made one by one have the same bits") {
  const ImageShape images{2, 5, 3};
  const MinibatchName name{9, 2, 1, 3, 50};
  const RowMajor<double> x = numbered(name.size, images);
  RowMajor<double> wanted = x;
  augment(name, images, wanted);
  RowMajor<double> found = RowMajor<double>::Constant(x.rows(), x.cols(), -1);
  for (std::uint32_t number = name.size * 2 * 5; number-- > 0;)
    kernels::augment_row(
        name, {2, 5, 3}, [&](std::uint32_t i, std::uint32_t k) { return x(i, k); }, number,
        found.data());
  CHECK(found == wanted);
}

}  // namespace gradrace::augmentation_test
