#include "models/gpu/kernels/product.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "models/gpu/mirror.h"
#include "tests/support/emulated_blocks.h"

namespace gradrace::product_test {

namespace {

struct Shape {
  std::uint32_t rows, columns, depth;
  bool a_transposed = false, b_transposed = false, added = false;
};

/// Matrices of a batch in rows wider than they are, all beside each other.
template <class Real>
struct Batch {
  std::uint32_t rows, columns, stride, count;
  std::vector<Real> numbers;
  std::vector<Real*> at;

  Batch(std::uint32_t rows_, std::uint32_t columns_, std::uint32_t count_, double phase)
      : rows(rows_), columns(columns_), stride(columns + 3), count(count_) {
    for (std::uint32_t i = 0; i < count * rows * stride; ++i)
      numbers.push_back(static_cast<Real>(std::sin(phase + i)));
    for (std::uint32_t i = 0; i < count; ++i) at.push_back(numbers.data() + i * rows * stride);
  }
  Real operator()(std::uint32_t i, std::uint32_t row, std::uint32_t column) const {
    return at[i][row * stride + column];
  }
};

template <class Real>
struct Factors {
  Shape shape;
  Batch<Real> a, b;

  Factors(const Shape& of, std::uint32_t count)
      : shape(of),
        a(of.a_transposed ? of.depth : of.rows, of.a_transposed ? of.rows : of.depth, count, 1),
        b(of.b_transposed ? of.columns : of.depth, of.b_transposed ? of.depth : of.columns, count,
          2) {}

  /// C, where products `first` and on, `count` of them, are made in one launch.
  Batch<Real> product(std::uint32_t threads, std::uint32_t first, std::uint32_t count) {
    Batch<Real> c(shape.rows, shape.columns, a.count, 3);
    EmulatedBlocks blocks(threads, EmulatedBlocks::most_shared_memory,
                          threads > 1 ? Execution::side_by_side : Execution::at_call);
    const kernels::ProductKernel<Real> kernel{shape.rows,
                                              shape.columns,
                                              shape.depth,
                                              {a.at.data() + first, a.stride, shape.a_transposed},
                                              {b.at.data() + first, b.stride, shape.b_transposed},
                                              c.at.data() + first,
                                              c.stride,
                                              shape.added};
    launch_all(blocks, kernel, count * kernel.blocks());
    blocks.wait();
    return c;
  }

  /// Number (row, column) of C, which was `was`, as the kernel defines it.
  Real sum(std::uint32_t i, std::uint32_t row, std::uint32_t column, Real was) const {
    Real result = shape.added ? was : Real{0};
    for (std::uint32_t k = 0; k < shape.depth; ++k)
      result = std::fma(shape.a_transposed ? a(i, k, row) : a(i, row, k),
                        shape.b_transposed ? b(i, column, k) : b(i, k, column), result);
    return result;
  }
};

template <class Real>
void check_sums(const Shape& shape, std::uint32_t threads) {
  CAPTURE(shape.rows);
  CAPTURE(shape.columns);
  CAPTURE(shape.depth);
  CAPTURE(shape.a_transposed);
  CAPTURE(shape.b_transposed);
  CAPTURE(shape.added);
  Factors<Real> factors(shape, 2);
  const Batch<Real> c = factors.product(threads, 0, 2);
  // Between the rows nothing is written.
  std::vector<Real> wanted = Batch<Real>(shape.rows, shape.columns, 2, 3).numbers;
  for (std::uint32_t i = 0; i < 2; ++i)
    for (std::uint32_t row = 0; row < shape.rows; ++row)
      for (std::uint32_t column = 0; column < shape.columns; ++column) {
        Real& number = wanted[(i * shape.rows + row) * c.stride + column];
        number = factors.sum(i, row, column, number);
      }
  CHECK(c.numbers == wanted);
}

}  // namespace

TEST_CASE("blocks: a product is its sums in the order of k, for all transposes and odd sizes") {
  const Shape sizes[] = {{1, 1, 1},   {3, 5, 7},    {4, 8, 16},  {17, 2, 33}, {64, 64, 15},
                         {65, 3, 17}, {63, 129, 5}, {2, 66, 50}, {5, 4, 0}};
  for (Shape shape : sizes) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        for (const bool added : {false, true}) {
          shape.a_transposed = a, shape.b_transposed = b, shape.added = added;
          check_sums<float>(shape, 1);
          check_sums<double>(shape, 1);
        }
      }
    }
  }
}

TEST_CASE("emulated: a product of three threads, blocks side by side, is that of one") {
  check_sums<float>({6, 70, 18, true, true, true}, 3);
}

TEST_CASE("blocks: a product has equal bits at every place of a batch of any size") {
  for (const Shape& shape : {Shape{5, 7, 33}, Shape{2, 66, 20, true, false, true}}) {
    Factors<float> factors(shape, 64);
    std::vector<float> wanted;
    for (std::uint32_t i = 0; i < 64; ++i) {
      const Batch<float> c = factors.product(1, i, 1);
      wanted.insert(wanted.end(), c.at[i], c.at[i] + c.rows * c.stride);
    }
    for (std::uint32_t count = 1; count <= 64; ++count) {
      const Batch<float> c = factors.product(1, 64 - count, count);
      REQUIRE(
          std::equal(c.at[64 - count], c.at[0] + c.numbers.size(),
                     wanted.end() - static_cast<std::ptrdiff_t>(c.numbers.size() / 64 * count)));
    }
  }
}

}  // namespace gradrace::product_test
