#include "models/layers/padded_convolution.h"

#include <doctest/doctest.h>

#include "tests/support/layers.h"
#include "tests/support/model_checks.h"

namespace gradrace::padded_convolution_test {

namespace {

/// The definition in plain loops.
Units<double> convolved(const ImageShape& in, const PaddedConvolution& shape, const Vector& w,
                        std::size_t first, const Units<double>& x) {
  const auto [outputs, kernel, padding, stride, bias] = shape;
  const std::size_t height = (in.height + 2 * padding - kernel) / stride + 1;
  const std::size_t width = (in.width + 2 * padding - kernel) / stride + 1;
  const std::size_t weights = in.channels * kernel * kernel;
  Units<double> y(x.rows(), static_cast<Eigen::Index>(outputs * height * width));
  for (Eigen::Index row = 0; row < x.rows(); ++row) {
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t i = 0; i < height; ++i) {
        for (std::size_t j = 0; j < width; ++j) {
          double sum = bias ? w[first + outputs * weights + o] : 0;
          for (std::size_t c = 0; c < in.channels; ++c) {
            for (std::size_t k = 0; k < kernel; ++k) {
              for (std::size_t l = 0; l < kernel; ++l) {
                const std::size_t above = stride * i + k, left = stride * j + l;
                if (above < padding || above >= in.height + padding || left < padding ||
                    left >= in.width + padding)
                  continue;
                const std::size_t pixel =
                    (c * in.height + above - padding) * in.width + left - padding;
                sum += w[first + o * weights + (c * kernel + k) * kernel + l] *
                       x(row, static_cast<Eigen::Index>(pixel));
              }
            }
          }
          y(row, static_cast<Eigen::Index>((o * height + i) * width + j)) = sum;
        }
      }
    }
  }
  return y;
}

struct Case {
  ImageShape images;
  PaddedConvolution shape;
  Eigen::Index n;
};
const Case cases[] = {
    {{1, 5, 5}, {.outputs = 1, .kernel = 3, .padding = 1}, 1},
    {{2, 6, 5}, {.outputs = 3, .kernel = 5, .padding = 2}, 3},
    {{3, 7, 6}, {.outputs = 2, .kernel = 3, .padding = 1, .stride = 2, .bias = false}, 4},
    {{2, 8, 8}, {.outputs = 4, .kernel = 3, .padding = 1, .stride = 2}, 2},
    {{1, 6, 9}, {.outputs = 2, .kernel = 4, .padding = 0, .stride = 3}, 5},
    {{2, 1, 1}, {.outputs = 2, .kernel = 3, .padding = 1, .stride = 2, .bias = false}, 2},
    {{1, 2, 3}, {.outputs = 2, .kernel = 5, .padding = 4, .stride = 1}, 2},
    {{4, 3, 3}, {.outputs = 5, .kernel = 1, .padding = 0, .stride = 1}, 3},
};

}  // namespace

TEST_CASE("padded_convolution: it is the sum in plain loops, and its derivatives are right") {
  for (const auto& [images, shape, n] : cases) {
    CAPTURE(images.height);
    CAPTURE(images.width);
    CAPTURE(shape.kernel);
    CAPTURE(shape.stride);
    const std::uint32_t first = 3;
    const LayerSpec spec = padded_convolution(images, shape, 0);
    const auto layer = computed(spec, first);
    const Vector w = some_point(first + spec.learnt + 2, 0.4);
    const Units<double> x = some_images(n, images.numbers());
    Units<double> y, dx;
    layer->forward(w.data(), x, y);
    const Units<double> expected = convolved(images, shape, w, first, x);
    REQUIRE(y.cols() == static_cast<Eigen::Index>(spec.output().numbers()));
    REQUIRE(y.cols() == expected.cols());
    CHECK((y - expected).norm() <= 1e-14 * expected.norm());

    Vector g(w.size(), 7.0);
    layer->backward(w.data(), x, by_probe(y), g.data(), &dx);
    const auto by_x = [&](const Units<double>& at) {
      return convolved(images, shape, w, first, at);
    };
    CHECK(relative_distance(dx, differences(by_x, x)) <= 1e-8);
    const auto by_w = [&](const Units<double>& at) {
      return convolved(images, shape, {at.data(), at.data() + at.size()}, first, x);
    };
    const Eigen::Map<const Units<double>> point(w.data(), 1, static_cast<Eigen::Index>(w.size()));
    const Units<double> dw = differences(by_w, point);
    const std::size_t end = first + spec.learnt;
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (i < first || i >= end)
        CHECK(g[i] == 7);  // another layer's
      else
        CHECK(std::abs(g[i] - dw(0, static_cast<Eigen::Index>(i))) <= 1e-8 * dw.norm());
    }
    Vector again(w.size(), 7.0);
    layer->backward(w.data(), x, by_probe(y), again.data(), nullptr);
    CHECK(again == g);
  }
}

TEST_CASE("padded_convolution: a kernel of ones adds up what is around, zeros beyond the edge") {
  // 1 2 3
  // 4 5 6
  // 7 8 9, by hand.
  Units<double> x(1, 9), y;
  x << 1, 2, 3, 4, 5, 6, 7, 8, 9;
  const Vector ones(9, 1.0);
  const auto same = computed(
      padded_convolution({1, 3, 3}, {.outputs = 1, .kernel = 3, .padding = 1, .bias = false}, 0));
  same->forward(ones.data(), x, y);
  Units<double> expected(1, 9);
  expected << 12, 21, 16, 27, 45, 33, 24, 39, 28;
  CHECK(y == expected);
  const auto half = computed(padded_convolution(
      {1, 3, 3}, {.outputs = 1, .kernel = 3, .padding = 1, .stride = 2, .bias = false}, 0));
  half->forward(ones.data(), x, y);
  Units<double> corners(1, 4);
  corners << 12, 16, 24, 28;
  CHECK(y == corners);
}

}  // namespace gradrace::padded_convolution_test
