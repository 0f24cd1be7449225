#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "models/gpu/kernels/pass.h"
#include "models/gpu/kernels/product.h"
#include "models/layers/base/steps.h"
#include "models/layers/network_spec.h"

namespace gradrace {

/// y = x W^T + b of n rows at once, x as numbers beside each other.  Parameters: W [outputs,
/// inputs], row-major, then b [outputs].  Without a bias, which is for the CPU's layers alone, no
/// b.
LayerSpec dense(const ImageShape& x, std::size_t outputs, double sd, bool bias = true);

/// Adds hidden layers y = f(W x + b) of those widths, then the scores, without f.
void add_dense_layers(NetworkSpec& network, std::span<const std::uint64_t> widths, Activation f,
                      std::size_t outputs);

}  // namespace gradrace

namespace gradrace::kernels {

/// A product of a dense layer, of each job of a pass.
template <class Number>
struct DenseProduct {
  using Real = Number;

  Pass<Real> pass;
  Layer layer;

  static constexpr std::uint32_t few_outputs = 16;
  /// Whether SmallTile wastes less than Tile, however many blocks there are.
  bool few() const { return layer.outputs <= few_outputs; }

  GRADRACE_HD LayerAt<Real> at(std::uint32_t job) const { return pass.at(layer, job); }

 protected:
  template <bool along, bool reads_rows>
  GRADRACE_HD auto x(std::uint32_t job) const {
    if constexpr (reads_rows)
      return DataRows<Real, along>{pass.split, pass.rows(job)};
    else
      return Numbers<Real, along>{at(job).x, layer.depth};
  }
};

/// y [n, outputs] = f(x W^T + b).  reads_rows: x is the split's rows.
template <class Number, bool reads_rows>
struct DenseForward : DenseProduct<Number> {
  using Real = Number;
  using Tile = ProductTile<32, 64, 8, 4>;
  using SmallTile = ProductTile<32, DenseProduct<Real>::few_outputs, 4, 2>;

  GRADRACE_HD ProductShape shape() const {
    return {this->pass.n, this->layer.outputs, this->layer.depth};
  }
  GRADRACE_HD auto a(std::uint32_t job) const { return this->template x<true, reads_rows>(job); }
  GRADRACE_HD auto b(std::uint32_t job) const {
    return Numbers<Real, true>{this->at(job).W(), this->layer.depth};
  }

  struct Result {
    Activation f;
    const Real* b;
    Real* y;
    std::uint32_t outputs;

    GRADRACE_HD Four<Real> before(std::uint32_t, std::uint32_t, std::uint32_t) const { return {}; }
    GRADRACE_HD void operator()(std::uint32_t i, std::uint32_t o, const Four<Real>& sums,
                                const Four<Real>&, std::uint32_t count) const {
      GRADRACE_UNROLL
      for (std::uint32_t q = 0; q < 4; ++q)
        if (q < count) y[i * outputs + o + q] = activated(f, sums.at[q] + b[o + q]);
    }
  };
  GRADRACE_HD Result result(std::uint32_t job) const {
    const LayerAt<Real> at = this->at(job);
    return {at.layer.f, at.b(), at.y, at.layer.outputs};
  }
};

/// The layer's part of g: of W [outputs, depth] dz^T x, with what its regulariser adds, and of b
/// the sums of dz.  moves: the state moves by it instead.
///
/// x and dz are read; W's part of g is written, or read and written, and read once more of W at
/// l2 > 0.
template <class Number, bool reads_rows>
struct DenseLearn : DenseProduct<Number> {
  using Real = Number;
  using Tile = ProductTile<64, 64, 8, 4>;
  using SmallTile = ProductTile<DenseProduct<Real>::few_outputs, 64, 4, 4>;

  bool moves;

  GRADRACE_HD ProductShape shape() const {
    return {this->layer.outputs, this->layer.depth, this->pass.n};
  }
  GRADRACE_HD auto a(std::uint32_t job) const {
    return Numbers<Real, false>{this->at(job).by_y, this->layer.outputs};
  }
  GRADRACE_HD auto b(std::uint32_t job) const { return this->template x<false, reads_rows>(job); }

  struct Result {
    PlainMove<Real> move;  // of the layer's; base null: to g
    Real* g;
    const Real* W;
    Real decay;
    std::uint32_t outputs, depth;

    GRADRACE_HD Four<Real> before(std::uint32_t o, std::uint32_t k, std::uint32_t count) const {
      return moves() ? read_numbers(move.base + o * depth + k, count) : Four<Real>{};
    }
    GRADRACE_HD void operator()(std::uint32_t o, std::uint32_t k, Four<Real> sums,
                                const Four<Real>& base, std::uint32_t count) const {
      const std::uint32_t number = o * depth + k;
      if (decay > 0) {
        const Four<Real> w = read_numbers(W + number, count);
        GRADRACE_UNROLL
        for (std::uint32_t q = 0; q < 4; ++q) sums.at[q] += decay * w.at[q];
      }
      give(number, sums, base, count);
    }
    GRADRACE_HD void beside(std::uint32_t o, Real sum) const {
      const std::uint32_t number = outputs * depth + o;
      give(number, {{sum, 0, 0, 0}}, {{moves() ? move.base[number] : Real{0}, 0, 0, 0}}, 1);
    }

   private:
    GRADRACE_HD bool moves() const { return move.base != nullptr; }
    GRADRACE_HD void give(std::uint32_t number, Four<Real> part, const Four<Real>& base,
                          std::uint32_t count) const {
      if (!moves()) return write_numbers(part, count, g + number);
      GRADRACE_UNROLL
      for (std::uint32_t q = 0; q < 4; ++q)
        part.at[q] = fused(-move.weight, part.at[q], base.at[q]);
      write_numbers(part, count, move.out + number);
    }
  };
  GRADRACE_HD Result result(std::uint32_t job) const {
    const LayerAt<Real> at = this->at(job);
    Result result{{}, nullptr, at.W(), at.decay, at.layer.outputs, at.layer.depth};
    if (moves)
      result.move = this->pass.moves[job].from(at.layer.first);
    else
      result.g = at.g + at.layer.first;
    return result;
  }
};

/// The derivative by x [n, depth], dz W.
template <class Number>
struct DensePropagate : DenseProduct<Number> {
  using Real = Number;
  using Tile = ProductTile<32, 64, 8, 4>;
  using SmallTile = ProductTile<32, 16, 2, 4>;
  static bool few() { return false; }

  GRADRACE_HD ProductShape shape() const {
    return {this->pass.n, this->layer.depth, this->layer.outputs};
  }
  GRADRACE_HD auto a(std::uint32_t job) const {
    return Numbers<Real, true>{this->at(job).by_y, this->layer.outputs};
  }
  GRADRACE_HD auto b(std::uint32_t job) const {
    return Numbers<Real, false>{this->at(job).W(), this->layer.depth};
  }

  struct Result {
    LayerAt<Real> at;

    GRADRACE_HD Four<Real> before(std::uint32_t, std::uint32_t, std::uint32_t) const { return {}; }
    /// As LayerAt::store().
    GRADRACE_HD void operator()(std::uint32_t i, std::uint32_t k, Four<Real> sums,
                                const Four<Real>&, std::uint32_t count) const {
      const std::uint32_t number = i * at.layer.depth + k;
      const Four<Real> x = read_numbers(at.x + number, count);
      Four<Real> was = {};
      if (at.layer.adds) was = read_numbers(at.by_x + number, count);
      GRADRACE_UNROLL
      for (std::uint32_t q = 0; q < 4; ++q)
        sums.at[q] = was.at[q] + sums.at[q] * slope(at.layer.before, x.at[q]);
      write_numbers(sums, count, at.by_x + number);
    }
  };
  GRADRACE_HD Result result(std::uint32_t job) const { return {this->at(job)}; }
};

struct DenseSteps {
  static std::uint32_t kept(const Layer&) { return 0; }

  template <class Jobs>
  static void forward(const Jobs& jobs, bool) {
    using Real = typename Jobs::Number;
    if (jobs.reads_rows())
      jobs.multiply(DenseForward<Real, true>{{jobs.pass, jobs.layer}});
    else
      jobs.multiply(DenseForward<Real, false>{{jobs.pass, jobs.layer}});
  }
  /// dx first: the state that moves may stand where W is.
  template <class Jobs>
  static void backward(const Jobs& jobs) {
    using Real = typename Jobs::Number;
    if (jobs.number > 0) jobs.multiply(DensePropagate<Real>{{jobs.pass, jobs.layer}});
    if (jobs.reads_rows())
      jobs.multiply(DenseLearn<Real, true>{{jobs.pass, jobs.layer}, jobs.moves});
    else
      jobs.multiply(DenseLearn<Real, false>{{jobs.pass, jobs.layer}, jobs.moves});
  }
};

}  // namespace gradrace::kernels
