#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "models/layers/network_spec.h"
#include "models/layers/steps.h"

namespace gradrace {

/// y = x W^T + b of n rows at once, x as numbers beside each other.  Parameters: W [outputs,
/// inputs], row-major, then b [outputs].
LayerSpec dense(const ImageShape& x, std::size_t outputs, double sd);

/// Adds hidden layers y = f(W x + b) of those widths, then the scores, without f.
void add_dense_layers(NetworkSpec& network, std::span<const std::uint64_t> widths, Activation f,
                      std::size_t outputs);

}  // namespace gradrace

namespace gradrace::kernels {

/// y = f(y + b).
struct DenseUnits {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    at.y[number] = activated(at.layer.f, at.y[number] + at.b()[number % at.layer.outputs]);
  }
};

/// Number `number` of b's part of g.
struct DenseBias {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    Real total = 0;
    for (std::uint32_t i = 0; i < at.n; ++i) total += at.by_y[i * at.layer.outputs + number];
    at.g[at.layer.first + at.layer.weights() + number] = total;
  }
};

struct DensePropagate {
  template <class Real>
  GRADRACE_HD void operator()(const LayerAt<Real>& at, std::uint32_t number) const {
    at.store(number, at.parts[number]);
  }
};

/// Products y [n, outputs] = x W^T, dW = dz^T x and parts [n, depth] = dz W, and what is beside
/// them.
struct DenseSteps {
  static std::uint32_t kept(const Layer&) { return 0; }
  template <class Real>
  static std::uint64_t parts(const Layer& layer, std::uint32_t n) {
    return std::uint64_t{n} * layer.depth;
  }

  template <class Jobs>
  static void forward(const Jobs& jobs, bool) {
    const Layer& layer = jobs.layer;
    const auto& pass = jobs.pass;
    jobs.multiply(pass.n, layer.outputs, layer.depth, {pass.to_x(jobs.number), layer.depth},
                  {pass.to_weights(jobs.number), layer.depth, true}, pass.to_y(jobs.number));
    jobs.template each<DenseUnits>(jobs.units());
  }
  template <class Jobs>
  static void backward(const Jobs& jobs) {
    const Layer& layer = jobs.layer;
    const auto& pass = jobs.pass;
    jobs.multiply(layer.outputs, layer.depth, pass.n,
                  {pass.to_by_y(jobs.number), layer.outputs, true},
                  {pass.to_x(jobs.number), layer.depth}, pass.to_gradients(jobs.number));
    jobs.template each<DenseBias>(layer.outputs);
    if (jobs.number == 0) return;
    jobs.multiply(pass.n, layer.depth, layer.outputs, {pass.to_by_y(jobs.number), layer.outputs},
                  {pass.to_weights(jobs.number), layer.depth}, pass.to_parts());
    jobs.template propagate<DensePropagate>();
  }
};

}  // namespace gradrace::kernels
