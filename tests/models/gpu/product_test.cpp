#include "models/gpu/kernels/product.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "models/gpu/mirror.h"
#include "models/layers/dense.h"
#include "tests/support/emulated_blocks.h"

namespace gradrace::product_test {

namespace {

using kernels::Layer;
using kernels::Pass;

using Shape = kernels::ProductShape;

template <class Real>
std::vector<Real> some_numbers(std::size_t count, double phase) {
  std::vector<Real> numbers;
  for (std::size_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<Real>(std::sin(phase + static_cast<double>(i))));
  return numbers;
}

/// The vectors of a factor, of each of `count` jobs, in rows that are wider than they are.
template <class Number, bool along>
struct Batch {
  using Real = Number;
  static constexpr std::uint32_t count = 64;

  std::uint32_t vectors, depth, stride, high;
  std::vector<Real> numbers;

  Batch(std::uint32_t of_vectors, std::uint32_t of_depth, double phase)
      : vectors(of_vectors),
        depth(of_depth),
        stride((along ? depth : vectors) + 3),
        high(along ? vectors : depth),
        numbers(some_numbers<Real>(std::size_t{count} * high * stride, phase)) {}

  kernels::Numbers<Real, along> of(std::uint32_t job) const {
    return {numbers.data() + std::size_t{job} * high * stride, stride};
  }
  Real operator()(std::uint32_t job, std::uint32_t i, std::uint32_t k) const {
    return along ? *of(job).at(i, k) : *of(job).at(k, i);
  }
};

/// Rows of a data set of bytes or floats.
template <class Number, bool along, bool floats>
struct RowsBatch {
  using Real = Number;
  static constexpr std::uint32_t count = 64, rows = 91;
  static constexpr float scale = 1.0f / 255;

  std::uint32_t vectors, depth, stride;
  std::vector<std::uint8_t> bytes;
  std::vector<float> numbers;
  std::vector<std::uint32_t> which;

  RowsBatch(std::uint32_t of_vectors, std::uint32_t of_depth, double)
      : vectors(of_vectors),
        depth(of_depth),
        stride(kernels::in_fours(along ? depth : vectors)),
        bytes(rows * stride),
        numbers(some_numbers<float>(rows * stride, 2)) {
    for (std::uint32_t i = 0; i < rows * stride; ++i) {
      if (i % stride >= (along ? depth : vectors))
        numbers[i] = 0;
      else
        bytes[i] = static_cast<std::uint8_t>(i * 37);
    }
    for (std::uint32_t i = 0; i < count * (along ? vectors : depth); ++i)
      which.push_back(i * 29 % rows);
  }

  kernels::DataRows<Real, along> of(std::uint32_t job) const {
    const kernels::Split split{
        floats ? nullptr : bytes.data(), numbers.data(), nullptr, nullptr, rows,
        along ? depth : vectors,         stride,         scale};
    return {split, which.data() + job * (along ? vectors : depth)};
  }
  Real operator()(std::uint32_t job, std::uint32_t i, std::uint32_t k) const {
    const std::size_t at = std::size_t{of(job).rows[along ? i : k]} * stride + (along ? k : i);
    return floats ? static_cast<Real>(numbers[at])
                  : static_cast<Real>(bytes[at]) * static_cast<Real>(scale);
  }
};

/// C in rows that are wider than they are.
template <class BatchA, class BatchB>
struct Product {
  using Real = typename BatchA::Real;

  const BatchA* factors_a;
  const BatchB* factors_b;
  Real* c;
  std::uint32_t first;  // job

  kernels::ProductShape shape() const {
    return {factors_a->vectors, factors_b->vectors, factors_a->depth};
  }
  std::uint32_t stride() const { return factors_b->vectors + 3; }
  auto a(std::uint32_t job) const { return factors_a->of(first + job); }
  auto b(std::uint32_t job) const { return factors_b->of(first + job); }

  struct Result {
    Real* c;
    std::uint32_t stride;
    kernels::Four<Real> before(std::uint32_t, std::uint32_t, std::uint32_t) const { return {}; }
    void operator()(std::uint32_t i, std::uint32_t j, const kernels::Four<Real>& sums,
                    const kernels::Four<Real>&, std::uint32_t count) const {
      kernels::write_numbers(sums, count, c + i * stride + j);
    }
  };
  Result result(std::uint32_t job) const {
    return {c + std::size_t{first + job} * factors_a->vectors * stride(), stride()};
  }
};

template <class Kernel>
void run(const Kernel& kernel, std::uint32_t count, std::uint32_t threads = 1) {
  EmulatedBlocks blocks(threads, EmulatedBlocks::most_shared_memory,
                        threads > 1 ? Execution::side_by_side : Execution::at_call);
  launch_all(blocks, kernel, count * kernel.blocks());
  blocks.wait();
}

/// C of `count` jobs from the first-th on, made in one launch; what nothing is written to is 7.
template <class Tile, template <class...> class Sums = kernels::FusedSums, class BatchA,
          class BatchB>
std::vector<typename BatchA::Real> product(const BatchA& a, const BatchB& b, std::uint32_t first,
                                           std::uint32_t count, std::uint32_t threads = 1) {
  using Real = typename BatchA::Real;
  std::vector<Real> c(std::size_t{BatchA::count} * a.vectors * (b.vectors + 3), 7);
  const Product<BatchA, BatchB> of{&a, &b, c.data(), first};
  run(kernels::ProductKernel<Product<BatchA, BatchB>, Tile, Sums>{of}, count, threads);
  return c;
}

template <class Tile, class BatchA, class BatchB>
void check_sums(const Shape& shape, std::uint32_t threads = 1) {
  CAPTURE(shape.rows);
  CAPTURE(shape.columns);
  CAPTURE(shape.depth);
  using Real = typename BatchA::Real;
  const BatchA a(shape.rows, shape.depth, 1);
  const BatchB b(shape.columns, shape.depth, 2);
  const std::vector<Real> c = product<Tile>(a, b, 1, 2, threads);
  std::vector<Real> wanted(c.size(), 7);
  for (std::uint32_t job = 1; job < 3; ++job)
    for (std::uint32_t i = 0; i < shape.rows; ++i)
      for (std::uint32_t j = 0; j < shape.columns; ++j) {
        Real sum = 0;
        for (std::uint32_t k = 0; k < shape.depth; ++k)
          sum = std::fma(a(job, i, k), b(job, j, k), sum);
        wanted[(job * shape.rows + i) * (shape.columns + 3) + j] = sum;
      }
  CHECK(c == wanted);
}

const Shape sizes[] = {{1, 1, 1},   {3, 5, 7},    {4, 8, 16},  {17, 2, 33}, {64, 64, 15},
                       {65, 3, 17}, {63, 129, 5}, {2, 66, 70}, {5, 4, 0}};

/// The four ways in which factors may lie.
template <class Real>
void check_layouts(const Shape& shape) {
  using Along = Batch<Real, true>;
  using Across = Batch<Real, false>;
  check_sums<kernels::ProductTile<64, 64, 8, 4>, Across, Across>(shape);
  check_sums<kernels::ProductTile<16, 64, 4, 4>, Across, Across>(shape);
  check_sums<kernels::ProductTile<32, 64, 8, 4>, Along, Across>(shape);
  check_sums<kernels::ProductTile<32, 64, 8, 4>, Along, Along>(shape);
  check_sums<kernels::ProductTile<32, 16, 4, 2>, Along, Along>(shape);
  check_sums<kernels::ProductTile<32, 64, 8, 4>, Across, Along>(shape);
}

template <class Real, bool floats>
void check_rows(const Shape& shape) {
  check_sums<kernels::ProductTile<32, 16, 4, 2>, RowsBatch<Real, true, floats>, Batch<Real, true>>(
      shape);
  check_sums<kernels::ProductTile<64, 64, 8, 4>, Batch<Real, false>,
             RowsBatch<Real, false, floats>>(shape);
}

/// Of three products of TF32: each sum is off by at most 2^-21 of its terms' sizes and by what sums
/// of three times as many float32 are.  Measured, of all sums: 5e-8 to 6.5e-7 of their size.
template <class Tile, class BatchA, class BatchB>
void check_tf32_sums(const Shape& shape) {
  CAPTURE(shape.rows);
  CAPTURE(shape.columns);
  CAPTURE(shape.depth);
  const BatchA a(shape.rows, shape.depth, 1);
  const BatchB b(shape.columns, shape.depth, 2);
  const auto c = product<Tile, kernels::Tf32Sums>(a, b, 1, 2);
  if (shape.rows == 17) CHECK(product<Tile, kernels::Tf32Sums>(a, b, 1, 2, 3) == c);
  CHECK(std::count(c.begin(), c.end(), 7) >=
        std::ptrdiff_t{62} * shape.rows * (shape.columns + 3) + 6 * shape.rows);
  double squared_error = 0, squared = 0;
  for (std::uint32_t job = 1; job < 3; ++job)
    for (std::uint32_t i = 0; i < shape.rows; ++i)
      for (std::uint32_t j = 0; j < shape.columns; ++j) {
        double sum = 0, size = 0;
        for (std::uint32_t k = 0; k < shape.depth; ++k) {
          const double term = double{a(job, i, k)} * double{b(job, j, k)};
          sum += term, size += std::abs(term);
        }
        const double error = c[(job * shape.rows + i) * (shape.columns + 3) + j] - sum;
        REQUIRE(std::abs(error) <=
                (std::ldexp(1, -21) + 3 * shape.depth * std::ldexp(1, -24)) * size);
        squared_error += error * error, squared += sum * sum;
      }
  CHECK(std::sqrt(squared_error / squared) < 1e-6);
}

template <class Tile, template <class...> class Sums, class BatchA, class BatchB>
void check_places(const Shape& shape) {
  const BatchA a(shape.rows, shape.depth, 1);
  const BatchB b(shape.columns, shape.depth, 2);
  const auto size = std::ptrdiff_t{shape.rows} * (shape.columns + 3);
  const auto wanted = product<Tile, Sums>(a, b, 0, BatchA::count);
  for (std::uint32_t count = 1; count <= BatchA::count; ++count) {
    const std::uint32_t first = BatchA::count - count;
    const auto c = product<Tile, Sums>(a, b, first, count);
    REQUIRE(std::equal(c.begin() + size * first, c.end(), wanted.begin() + size * first));
  }
}

/// A dense layer behind one of tanh or relu, two jobs of a pass.
template <class Real>
struct DenseJobs {
  static constexpr std::uint32_t jobs = 2;

  Layer layer;
  std::uint32_t n;
  double l2;
  std::vector<Real> w, base, out, g, work;
  std::vector<const Real*> to_w;
  std::vector<Real*> to_g;
  std::vector<kernels::PlainMove<Real>> moves;
  RowsBatch<Real, true, false> rows;

  DenseJobs(std::uint32_t outputs, std::uint32_t depth, std::uint32_t of_n)
      : n(of_n), l2(0.01), rows(of_n, depth, 0) {
    layer = {.f = Activation::tanh, .outputs = outputs, .first = 5, .depth = depth};
    layer.channels = depth;
    layer.before = Activation::tanh;
    layer.x = 0, layer.y = kernels::in_fours(depth);
    layer.by_y = layer.y + kernels::in_fours(outputs);
    layer.by_x = layer.by_y + kernels::in_fours(outputs);
    layer.adds = true;
    const std::size_t d = layer.first + layer.weights() + outputs, row = layer.by_x + depth;
    w = some_numbers<Real>(jobs * d, 1), base = some_numbers<Real>(jobs * d, 2);
    out = g = std::vector<Real>(jobs * d, 7);
    work = some_numbers<Real>(jobs * kernels::in_fours(row * n), 3);
    for (std::uint32_t job = 0; job < jobs; ++job) {
      to_w.push_back(w.data() + job * d), to_g.push_back(g.data() + job * d);
      moves.push_back({base.data() + job * d, out.data() + job * d, Real{0.25}});
    }
  }

  Pass<Real> pass() {
    Pass<Real> pass{};
    pass.network.l2 = l2;
    pass.split = rows.of(0).split;
    pass.n = n, pass.together = jobs;
    pass.numbers = rows.which.data();
    pass.w = to_w.data(), pass.g = to_g.data(), pass.moves = moves.data();
    pass.work = work.data(), pass.work_stride = work.size() / jobs;
    return pass;
  }
};

/// The sum of f(k) over k < depth.
template <class Function>
double sum_of(std::uint32_t depth, const Function& f) {
  double sum = 0;
  for (std::uint32_t k = 0; k < depth; ++k) sum += f(k);
  return sum;
}

/// Greatest difference from wanted(i, j), beside `depth` roundings of a partial sum of about 2.
template <class Real, class Wanted>
double error_of(std::uint32_t rows, std::uint32_t columns, std::uint32_t depth, const Real* found,
                const Wanted& wanted) {
  double error = 0;
  for (std::uint32_t i = 0; i < rows; ++i)
    for (std::uint32_t j = 0; j < columns; ++j)
      error = std::max(error, std::abs(static_cast<double>(found[i * columns + j]) - wanted(i, j)));
  return error / (depth * static_cast<double>(std::numeric_limits<Real>::epsilon()));
}

template <template <class...> class Sums, class Product>
void multiply(const Product& product) {
  if (product.few())
    run(kernels::ProductKernel<Product, typename Product::SmallTile, Sums>{product}, 2);
  else
    run(kernels::ProductKernel<Product, typename Product::Tile, Sums>{product}, 2);
}

/// Each of a layer's products against sums of doubles.
template <class Real, bool reads_rows, template <class...> class Sums = kernels::FusedSums>
void check_dense(std::uint32_t outputs, std::uint32_t depth, std::uint32_t n) {
  CAPTURE(outputs);
  CAPTURE(depth);
  CAPTURE(reads_rows);
  DenseJobs<Real> of(outputs, depth, n);
  const DenseJobs<Real> was = of;
  const Pass<Real> pass = of.pass();
  const Layer& layer = of.layer;
  multiply<Sums>(kernels::DensePropagate<Real>{{pass, layer}});
  const auto after_propagate = of.work;
  multiply<Sums>(kernels::DenseLearn<Real, reads_rows>{{pass, layer}, false});
  multiply<Sums>(kernels::DenseLearn<Real, reads_rows>{{pass, layer}, true});
  multiply<Sums>(kernels::DenseForward<Real, reads_rows>{{pass, layer}});
  for (std::uint32_t job = 0; job < 2; ++job) {
    const auto at = pass.at(layer, job);
    const Real* const W = at.W();
    const auto x = [&](std::uint32_t i, std::uint32_t k) {
      return static_cast<double>(reads_rows ? of.rows(job, i, k) : at.x[i * depth + k]);
    };
    const auto dz = [&](std::uint32_t i, std::uint32_t o) {
      return static_cast<double>(at.by_y[i * outputs + o]);
    };
    const auto y = [&](std::uint32_t i, std::uint32_t o) {
      return std::tanh(at.b()[o] + sum_of(depth, [&](std::uint32_t k) {
                         return x(i, k) * static_cast<double>(W[o * depth + k]);
                       }));
    };
    CHECK(error_of(n, outputs, depth, at.y, y) < 1);
    const auto by_x = [&](std::uint32_t i, std::uint32_t k) {
      const double sum = sum_of(outputs, [&](std::uint32_t o) {
        return dz(i, o) * static_cast<double>(W[o * depth + k]);
      });
      const double x_was = static_cast<double>(at.x[i * depth + k]);
      const std::size_t from = static_cast<std::size_t>(&at.by_x[i * depth + k] - of.work.data());
      return static_cast<double>(was.work[from]) + sum * (1 - x_was * x_was);
    };
    CHECK(error_of(n, depth, outputs, at.by_x, by_x) < 1);
    const auto dW = [&](std::uint32_t o, std::uint32_t k) {
      return sum_of(n, [&](std::uint32_t i) { return dz(i, o) * x(i, k); }) +
             2 * of.l2 * static_cast<double>(W[o * depth + k]);
    };
    const auto db = [&](std::uint32_t, std::uint32_t o) {
      return sum_of(n, [&](std::uint32_t i) { return dz(i, o); });
    };
    const Real* const g = at.g + layer.first;
    CHECK(error_of(outputs, depth, n, g, dW) < 1);
    CHECK(error_of(1, outputs, n, g + layer.weights(), db) < 1);
    // The state moved by the very same numbers.
    const auto move = of.moves[job];
    for (std::uint32_t j = 0; j < layer.weights() + outputs; ++j)
      REQUIRE(move.out[layer.first + j] ==
              std::fma(-move.weight, g[j], move.base[layer.first + j]));
    for (std::uint32_t j = 0; j < layer.first; ++j) REQUIRE((move.out[j] == 7 && at.g[j] == 7));
  }
}

}  // namespace

TEST_CASE("blocks: a product is its sums in the order of k, for all layouts, tiles and odd sizes") {
  for (const Shape& shape : sizes) {
    check_layouts<float>(shape);
    check_sums<kernels::ProductTile<64, 64, 8, 4>, Batch<double, false>, Batch<double, false>>(
        shape);
  }
}

TEST_CASE("blocks: a factor may be rows of a data set, bytes or floats") {
  for (const Shape& shape : {Shape{3, 5, 7}, Shape{33, 17, 66}, Shape{64, 70, 33}}) {
    check_rows<float, false>(shape);
    check_rows<double, true>(shape);
  }
}

TEST_CASE("emulated: a product of three threads, blocks side by side, is that of one") {
  using Across = Batch<float, false>;
  check_sums<kernels::ProductTile<64, 64, 8, 4>, Across, Across>({6, 70, 66}, 3);
  check_sums<kernels::ProductTile<32, 16, 4, 2>, RowsBatch<float, true, false>, Batch<float, true>>(
      {6, 20, 70}, 3);
}

TEST_CASE("blocks: a product has equal bits at every place of a batch of any size") {
  using kernels::FusedSums, kernels::Tf32Sums;
  using Along = Batch<float, true>;
  using Across = Batch<float, false>;
  check_places<kernels::ProductTile<32, 64, 8, 4>, FusedSums, Along, Along>({5, 7, 33});
  check_places<kernels::ProductTile<64, 64, 8, 4>, FusedSums, Across, Across>({2, 66, 20});
  check_places<kernels::ProductTile<32, 64, 8, 4>, Tf32Sums, Along, Along>({5, 7, 33});
}

TEST_CASE("blocks: three products of TF32 for all layouts and tiles") {
  using Along = Batch<float, true>;
  using Across = Batch<float, false>;
  for (const Shape& shape : sizes) {
    if (shape.depth == 0) continue;
    check_tf32_sums<kernels::ProductTile<64, 64, 8, 4>, Across, Across>(shape);
    check_tf32_sums<kernels::ProductTile<16, 64, 4, 4>, Across, Across>(shape);
    check_tf32_sums<kernels::ProductTile<32, 64, 8, 4>, Along, Across>(shape);
    check_tf32_sums<kernels::ProductTile<32, 16, 4, 2>, Along, Along>(shape);
    check_tf32_sums<kernels::ProductTile<32, 64, 8, 4>, RowsBatch<float, true, false>, Along>(
        shape);
  }
}

TEST_CASE("blocks: products of dense layers against sums of doubles") {
  check_dense<float, true>(128, 784, 32);  // of the mlp that was measured
  check_dense<float, false>(10, 128, 32);
  check_dense<float, false>(84, 120, 32);  // of LeNet
  check_dense<float, false>(17, 33, 37);
  check_dense<double, true>(10, 37, 5);
  check_dense<double, false>(33, 70, 35);
  check_dense<float, true, kernels::Tf32Sums>(128, 784, 32);
  check_dense<float, false, kernels::Tf32Sums>(10, 128, 32);
}

}  // namespace gradrace::product_test
