#pragma once

#include "models/gpu/kernels/network.h"
#include "models/gpu/kernels/tiles.h"

namespace gradrace::kernels {

/// The arrays of a layer, for the n rows of one job of a pass.
template <class Real>
struct LayerAt {
  const Layer& layer;
  std::uint32_t n;
  Real decay;             // of weights: 2 l2
  const Real* w;          // [parameters]
  Real* g;                // likewise; null: no gradient is asked for
  const Real* x;          // [n, inputs]
  Real *y, *kept, *by_y;  // [n, units]; by_y: dL/dz
  Real* by_x;             // [n, inputs]: dL/dz of the layer before
  Real* parts;            // work memory of the layer's steps, such as parts of sums

  GRADRACE_HD const Real* W() const { return w + layer.first; }
  GRADRACE_HD const Real* b() const { return W() + layer.weights(); }

  /// d = dL/dx[at]; by_x is by the argument of the function that gave x.
  GRADRACE_HD void store(std::uint32_t at, Real d) const {
    const Real share = d * slope(layer.before, x[at]);
    by_x[at] = layer.adds ? by_x[at] + share : share;
  }
};

/// A state's w moved by one gradient g: w' = base - weight g, number by number.
template <class Real>
struct PlainMove {
  const Real* base;  // [parameters]
  Real* out;         // likewise
  Real weight;

  /// Of the numbers from the j-th on.
  GRADRACE_HD PlainMove from(std::uint32_t j) const { return {base + j, out + j, weight}; }
  /// The j-th, by g[j].
  GRADRACE_HD void operator()(std::uint32_t j, Real of_g) const {
    out[j] = fused(-weight, of_g, base[j]);
  }
};

/// Some parameters beside each other.
struct NumberRange {
  std::uint32_t first = 0, count = 0;
};

/// Minibatches of n rows that go through a network together, each with parameters of its own: the
/// jobs of a pass.
template <class Real>
struct Pass {
  using Number = Real;

  Network<Real> network;
  Split split;                // its rows
  std::uint32_t features;     // of x; 0: the first layer looks at the split's rows
  std::uint32_t together, n;  // jobs at most, rows of each
  std::uint32_t* numbers;     // [together, n]: of each job's rows
  const Real** w;             // [together]
  Real** g;                   // likewise; null in an evaluation
  PlainMove<Real>* moves;     // likewise: of each job's state, by the part of g that the layers
                              // behind all others give, which is then not in g; null: none
  Real *work, *parts;         // of each job
  std::uint64_t work_stride, parts_stride;

  GRADRACE_HD LayerAt<Real> at(const Layer& layer, std::uint32_t job) const {
    return {layer,
            n,
            static_cast<Real>(2 * network.l2),
            w[job],
            g[job],
            place(job, layer.x),
            place(job, layer.y),
            place(job, layer.kept),
            place(job, layer.by_y),
            place(job, layer.by_x),
            parts + job * parts_stride};
  }
  GRADRACE_HD std::uint32_t* rows(std::uint32_t job) const { return numbers + job * n; }
  /// Input of the first layer, [n, features].
  GRADRACE_HD Real* x(std::uint32_t job) const { return place(job, network.layers[0].x); }
  /// Behind it, [2 n], for an evaluation.
  GRADRACE_HD Real* of_rows(std::uint32_t job) const { return x(job) + n * features; }
  /// [n, outputs of the last layer].
  GRADRACE_HD Real* scores(std::uint32_t job) const {
    return place(job, network.layers[network.depth - 1].y);
  }

  /// Job i has those parameters and that place for its gradient, which may be null.
  template <class Block>
  GRADRACE_HD void begin(const Block& block, std::uint32_t i, const Real* of_w, Real* of_g) const {
    if (block.thread() == 0) w[i] = of_w, g[i] = of_g;
    block.sync();
  }

 private:
  GRADRACE_HD Real* place(std::uint32_t job, std::uint32_t of_row) const {
    return work + job * work_stride + std::uint64_t{of_row} * n;
  }
};

/// x, the rows of those numbers; a block for each chunk of each job.
template <class Number>
struct RowsKernel {
  using Real = Number;

  Pass<Real> pass;

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return 0; }
  GRADRACE_HD std::uint32_t blocks() const { return chunks(std::uint64_t{pass.n} * pass.features); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const std::uint32_t job = number / blocks();
    Real* const to = pass.x(job);
    with_rows<Real>(pass.split, pass.rows(job), [&](const auto& x) {
      each_of_chunk(block, number % blocks(), pass.n * pass.features, [&](std::uint64_t j) {
        const auto at = static_cast<std::uint32_t>(j);
        to[at] = x(at / pass.features, at % pass.features);
      });
    });
  }
};

/// Each{}(at, number) for every number < numbers of every job.
template <class Number, class Each>
struct EachKernel {
  using Real = Number;

  Pass<Real> pass;
  Layer layer;
  std::uint32_t numbers;

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return 0; }
  /// Of a job.
  GRADRACE_HD std::uint32_t blocks() const { return chunks(numbers); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    const LayerAt<Real> at = pass.at(layer, number / blocks());
    each_of_chunk(block, number % blocks(), numbers,
                  [&](std::uint64_t j) { Each{}(at, static_cast<std::uint32_t>(j)); });
  }
};

/// Sums{}(block, at, number) for each number < sums of every job, a block for each.
template <class Number, class Sums>
struct SumsKernel {
  using Real = Number;

  Pass<Real> pass;
  Layer layer;
  std::uint32_t sums;

  static constexpr std::uint32_t threads = 256, at_once = 1;
  static std::size_t shared_numbers() { return lanes * sizeof(double) / sizeof(Real); }

  template <class Block>
  GRADRACE_HD void operator()(const Block& block, std::uint32_t number, std::uint32_t) const {
    Sums{}(block, pass.at(layer, number / sums), number % sums);
  }
};

/// Index in y [n, units] of pixel p % pixels of row p / pixels of a channel.
GRADRACE_HD inline std::uint32_t of_channel(const Layer& layer, std::uint32_t channel,
                                            std::uint32_t p) {
  const std::uint32_t pixels = layer.pixels();
  return (p / pixels * layer.outputs + channel) * pixels + p % pixels;
}

}  // namespace gradrace::kernels
