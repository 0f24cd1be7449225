#include "models/cpu/kernels/convolution_kernels.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "models/cpu/kernels/kernels.h"

namespace gradrace::convolution_kernels_test {

namespace {

using namespace kernels;

template <class Real>
using Numbers = std::vector<Real>;

/// z, dx, dW and the sums of dz's maps, one after the other.
template <class Real>
struct Products {
  Numbers<Real> z, dx, dW, sums;
};

template <class Real>
Numbers<Real> some_numbers(std::size_t count, double phase, bool absolute) {
  Numbers<Real> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(std::sin(phase + 1.7 * static_cast<double>(i)));
    numbers[i] = absolute ? std::abs(number) : number;
  }
  return numbers;
}

template <class Real>
Products<Real> products(const ConvolutionKernels<Real>& kernels, const ConvolutionShape& shape,
                        std::size_t n, std::size_t images_of_input, bool absolute = false) {
  const std::size_t pixels = shape.height * shape.width, of_z = shape.out_height * shape.out_width;
  std::vector<Taps> rows, columns, rows_back, columns_back;
  for (std::size_t i = 0; i < shape.out_height; ++i)
    rows.push_back(taps_of_output(shape, i, shape.height));
  for (std::size_t i = 0; i < shape.out_width; ++i)
    columns.push_back(taps_of_output(shape, i, shape.width));
  for (std::size_t i = 0; i < shape.height; ++i)
    rows_back.push_back(taps_of_input(shape, i, shape.out_height));
  for (std::size_t i = 0; i < shape.width; ++i)
    columns_back.push_back(taps_of_input(shape, i, shape.out_width));
  // The first n of so many images.
  const auto images = [&](std::size_t numbers, double phase) {
    const auto all = some_numbers<Real>(numbers * images_of_input, phase, absolute);
    Numbers<Real> some(numbers * n);
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = all[i / n * images_of_input + i % n];
    return some;
  };
  const auto x = images(shape.channels * pixels, 1), dz = images(shape.outputs * of_z, 2);
  const auto W = some_numbers<Real>(shape.weights(), 3, absolute);
  const auto b = some_numbers<Real>(shape.outputs, 4, absolute);
  Numbers<Real> scratch(16 * shape.weights() + 8 * shape.area() * (shape.channels + shape.outputs));
  Products<Real> result{Numbers<Real>(dz.size()), Numbers<Real>(x.size()), Numbers<Real>(W.size()),
                        Numbers<Real>(shape.outputs)};
  kernels.correlate(
      {x.data(), n, shape.channels, shape.height, shape.width, shape.kernel, rows, columns,
       W.data(), shape.channels * shape.area(), shape.area(), b.data(), shape.outputs},
      result.z.data(), scratch.data());
  kernels.correlate({dz.data(), n, shape.outputs, shape.out_height, shape.out_width, shape.kernel,
                     rows_back, columns_back, W.data(), shape.area(), shape.channels * shape.area(),
                     nullptr, shape.channels},
                    result.dx.data(), scratch.data());
  kernels.weight_sums(shape, n, x.data(), dz.data(), result.dW.data(), scratch.data());
  kernels.map_sums(dz.data(), shape.outputs, of_z * n, result.sums.data());
  return result;
}

/// The greatest error of a chain of so many terms, each rounded: terms 2^-24 sum of |terms|.
bool within(const Numbers<float>& found, const Numbers<double>& exact,
            const Numbers<double>& of_absolutes, std::size_t terms) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double bound = 0x1p-24 * static_cast<double>(terms) * of_absolutes[i];
    if (!(std::abs(found[i] - exact[i]) <= bound)) return false;
  }
  return true;
}

struct Case {
  std::size_t channels, height, width, outputs, kernel, padding, stride;

  ConvolutionShape shape() const {
    const auto convolved = [&](std::size_t pixels) {
      return (pixels + 2 * padding - kernel) / stride + 1;
    };
    return {channels,         height, width,   outputs, convolved(height),
            convolved(width), kernel, padding, stride};
  }
};
const Case cases[] = {{1, 6, 5, 1, 3, 1, 1},   {3, 9, 8, 20, 5, 2, 1},   {4, 7, 10, 17, 3, 1, 2},
                      {2, 12, 12, 9, 5, 0, 1}, {3, 5, 6, 8, 1, 0, 1},    {1, 2, 3, 5, 5, 4, 1},
                      {2, 9, 9, 6, 7, 3, 2},   {2, 16, 17, 11, 4, 0, 3}, {8, 8, 8, 64, 3, 1, 1}};
const std::size_t numbers_of_images[] = {1, 5, 16, 21, 32, 48, 53};

}  // namespace

TEST_CASE("convolution kernels: float32 agrees with float64 on every instruction set") {
  for (const Case& c : cases) {
    for (const std::size_t n : numbers_of_images) {
      const ConvolutionShape shape = c.shape();
      CAPTURE(shape.outputs);
      CAPTURE(n);
      const auto exact = products(convolution_kernels<double>(), shape, n, n);
      const auto most = products(convolution_kernels<double>(), shape, n, n, true);
      for (const Kernels* const kernels : runnable_kernels()) {
        const std::string name(kernels->name);
        CAPTURE(name);
        const auto found = products(kernels->convolutions, shape, n, n);
        const std::size_t of_pixel = 2 * shape.area(), of_sum = shape.out_height * shape.out_width;
        CHECK(within(found.z, exact.z, most.z, of_pixel * shape.channels + 1));
        CHECK(within(found.dx, exact.dx, most.dx, of_pixel * shape.outputs));
        CHECK(within(found.dW, exact.dW, most.dW, of_sum * 2 * (n / 16 + 1) + 4));
        CHECK(within(found.sums, exact.sums, most.sums, of_sum * (n / 16 + 1) + 4));
      }
    }
  }
}

TEST_CASE("convolution kernels: instruction sets that fuse give the same bits") {
  for (const Case& c : cases) {
    for (const std::size_t n : numbers_of_images) {
      const auto best = products(runnable_kernels().front()->convolutions, c.shape(), n, n);
      for (const Kernels* const kernels : runnable_kernels()) {
        if (kernels->fused != runnable_kernels().front()->fused) continue;
        const auto found = products(kernels->convolutions, c.shape(), n, n);
        CHECK(found.z == best.z);
        CHECK(found.dx == best.dx);
        CHECK(found.dW == best.dW);
        CHECK(found.sums == best.sums);
      }
    }
  }
}

TEST_CASE("convolution kernels: an image does not depend on those beside it") {
  for (const Case& c : cases) {
    const auto& kernels = runnable_kernels().front()->convolutions;
    const auto all = products(kernels, c.shape(), 53, 53);
    for (const std::size_t n : numbers_of_images) {
      const auto some = products(kernels, c.shape(), n, 53);
      for (std::size_t i = 0; i < some.z.size(); ++i)
        REQUIRE(some.z[i] == all.z[i / n * 53 + i % n]);
      for (std::size_t i = 0; i < some.dx.size(); ++i)
        REQUIRE(some.dx[i] == all.dx[i / n * 53 + i % n]);
    }
  }
}

}  // namespace gradrace::convolution_kernels_test
