#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/gpu/network_pass.h"
#include "tests/support/emulated_blocks.h"

namespace gradrace {

/// A number of (-1.5, 1.5).
inline double some_number(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t h =
      (a * 0x9E3779B1u) ^ ((b + 0x7F4A7C15u) * 0x85EBCA77u) ^ ((c + 0x165667B1u) * 0xC2B2AE3Du);
  h = (h ^ h >> 16) * 0x7feb352du;
  h = (h ^ h >> 15) * 0x846ca68bu;
  h ^= h >> 16;
  return (static_cast<double>(h % 4001) - 2000) / 1333 * (1 + h / 4294967296.0 / 512);
}

/// A layer in the middle of a network, of n rows of each of some jobs of a pass, with numbers of
/// its own in each; on emulated blocks.
template <class Real, class Steps>
class OneLayer {
 public:
  /// layer: without places, with up to four parameters or statistics of each output behind W.
  OneLayer(const kernels::Layer& layer, std::uint32_t n, std::uint32_t jobs, bool tf32x3 = false)
      : layer_(layer), jobs_(jobs), at_w_(jobs), at_g_(jobs) {
    std::uint32_t next = 0;
    for (auto [place, numbers] : {std::pair(&layer_.x, layer_.inputs()),
                                  {&layer_.by_x, layer_.inputs()},
                                  {&layer_.y, layer_.units()},
                                  {&layer_.kept, layer_.units()},
                                  {&layer_.by_y, layer_.units()}})
      *place = next, next += kernels::in_fours(numbers);
    pass_.n = n, pass_.together = jobs;
    pass_.network.tf32x3 = tf32x3;
    pass_.work_stride = std::uint64_t{n} * next;
    pass_.parts_stride = kernels::in_fours(Steps::template parts<Real>(layer_, n));
    parameters_ = layer_.weights() + 4 * layer_.outputs;
    work_.resize(jobs * pass_.work_stride), parts_.resize(jobs * pass_.parts_stride);
    w_.resize(jobs * parameters_), g_.resize(jobs * parameters_);
    pass_.work = work_.data(), pass_.parts = parts_.data();
    pass_.w = at_w_.data(), pass_.g = at_g_.data();
    for (std::uint32_t job = 0; job < jobs; ++job) {
      at_w_[job] = w_.data() + job * parameters_, at_g_[job] = g_.data() + job * parameters_;
      fill(job, layer_.x, layer_.inputs(), 1, 1), fill(job, layer_.by_x, layer_.inputs(), 4, 0.01);
      fill(job, layer_.by_y, layer_.units(), 2, 0.01);
      for (std::uint32_t i = 0; i < parameters_; ++i)
        w_[job * parameters_ + i] = static_cast<Real>(0.1 * some_number(job, i, 3));
    }
  }

  const kernels::Layer& layer() const { return layer_; }
  std::uint32_t rows() const { return pass_.n; }
  kernels::LayerAt<Real> at(std::uint32_t job) const { return pass_.at(layer_, job); }
  /// x [n, inputs] of a job.
  Real* x(std::uint32_t job) { return work_.data() + job * pass_.work_stride + layer_.x * pass_.n; }
  Real* w(std::uint32_t job) { return w_.data() + job * parameters_; }

  void forward(std::uint32_t threads) {
    with_jobs(threads, [](const auto& jobs) { Steps::forward(jobs, true); });
  }
  void backward(std::uint32_t threads) {
    with_jobs(threads, [](const auto& jobs) { Steps::backward(jobs); });
  }
  /// What both make of a job.
  std::vector<Real> compute(std::uint32_t threads, std::uint32_t job) {
    forward(threads), backward(threads);
    std::vector<Real> all(at(job).g, at(job).g + parameters_);
    all.insert(all.end(), work_.data() + job * pass_.work_stride,
               work_.data() + (job + 1) * pass_.work_stride);
    return all;
  }

 private:
  using OfPass = NetworkPass<Real, EmulatedBlocks>;

  void fill(std::uint32_t job, std::uint32_t place, std::uint32_t count, std::uint32_t stream,
            double scale) {
    Real* const to = work_.data() + job * pass_.work_stride + place * pass_.n;
    for (std::uint32_t i = 0; i < pass_.n * count; ++i)
      to[i] = static_cast<Real>(scale * some_number(job, i, stream));
  }
  template <class Use>
  void with_jobs(std::uint32_t threads, const Use& use) {
    EmulatedBlocks blocks(threads, EmulatedBlocks::most_shared_memory,
                          threads > 1 ? Execution::side_by_side : Execution::at_call);
    use(typename OfPass::Jobs{blocks, pass_, layer_, 1, jobs_, false});
    blocks.wait();
  }

  kernels::Layer layer_;
  std::uint32_t jobs_, parameters_;
  std::vector<Real> work_, parts_, w_, g_;
  std::vector<const Real*> at_w_;
  std::vector<Real*> at_g_;
  kernels::Pass<Real> pass_{};
};

/// How far numbers are from those expected, as a part of their norm.
class Error {
 public:
  template <class Real>
  void add(Real found, double wanted) {
    const double difference = static_cast<double>(found) - wanted;
    of_difference_ += difference * difference, of_wanted_ += wanted * wanted;
  }
  double relative() const { return std::sqrt(of_difference_ / of_wanted_); }

 private:
  double of_difference_ = 0, of_wanted_ = 0;
};

}  // namespace gradrace
