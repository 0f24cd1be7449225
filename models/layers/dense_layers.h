#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/layers/activation.h"
#include "models/layers/dense.h"
#include "models/sampling/batch.h"

namespace gradrace {

/// Layers one after the other, each fully connected: a hidden layer is y = f(W x + b), the last one
/// has no f.  The parameters of a layer follow those of the layer before.
template <class Real>
class DenseLayers {
 public:
  /// `first`: where the parameters begin.
  DenseLayers(std::size_t inputs, std::span<const std::uint64_t> widths, std::size_t outputs,
              Activation f, std::size_t first = 0)
      : f_(f), hidden_(widths.size()) {
    for (const std::uint64_t width : widths) {
      layers_.push_back({inputs, width, first});
      inputs = width;
      first = layers_.back().end();
    }
    layers_.push_back({inputs, outputs, first});
  }

  std::span<const Dense> layers() const { return layers_; }

  /// The same for a kernel, after those that are there.
  void add_kernel_layers(std::vector<kernels::Layer>& kernel_layers) const {
    for (std::size_t l = 0; l < layers_.size(); ++l)
      kernel_layers.push_back(layers_[l].kernel_layer(
          l < hidden_.size() ? kernel_function(f_) : kernels::Function::identity));
  }

  void initialise(Stream& words, Real* w) const {
    for (const Dense& layer : layers_)
      layer.initialise(initial_sd(f_, layer.inputs, layer.outputs), words, w);
  }

  /// x [n, inputs], scores [n, outputs].
  template <class X>
  void forward(const Real* w, const X& x, Units<Real>& scores) {
    for (std::size_t l = 0; l < hidden_.size(); ++l) {
      if (l == 0)
        layers_[l].forward(w, x, hidden_[l]);
      else
        layers_[l].forward(w, hidden_[l - 1], hidden_[l]);
      activate(f_, hidden_[l]);
    }
    if (hidden_.empty())
      layers_.back().forward(w, x, scores);
    else
      layers_.back().forward(w, hidden_.back(), scores);
  }

  /// These layers' part of g, from the derivative by the scores and the forward pass of the same w
  /// and x.  dx [n, inputs]: the derivative by x, where it is wanted.
  template <class X>
  void backward(const Real* w, const X& x, const Units<Real>& by_scores, Real* g,
                Units<Real>* dx = nullptr) {
    const Units<Real>* dy = &by_scores;
    for (std::size_t l = hidden_.size(); l > 0; --l) {
      layers_[l].backward(hidden_[l - 1], *dy, g);
      layers_[l].propagate(w, *dy, by_hidden_[l % 2]);
      times_slope(f_, hidden_[l - 1], by_hidden_[l % 2]);
      dy = &by_hidden_[l % 2];
    }
    layers_[0].backward(x, *dy, g);
    if (dx != nullptr) layers_[0].propagate(w, *dy, *dx);
  }

 private:
  Activation f_;
  std::vector<Dense> layers_;
  std::vector<Units<Real>> hidden_;  // [n, width] of each hidden layer
  Units<Real> by_hidden_[2];         // the derivative by one of them, and by the next
};

}  // namespace gradrace
