#pragma once

#include <cstddef>
#include <vector>

#include "models/cpu/aligned.h"
#include "models/cpu/kernels/kernels.h"
#include "models/layers/network_spec.h"
#include "models/model/packing.h"

namespace gradrace {

/// Whether all layers are dense, so that DenseNetwork computes them.
bool is_dense(const NetworkSpec& spec);

/// Dense layers, one after the other, by kernels of their own.  Keeps the maps of its last call.
/// Values are packed: W [inputs, columns] of each layer, so that outputs stand side by side, and
/// b [columns] after it, as the weights of an input that is 1.
class DenseNetwork {
 public:
  DenseNetwork(const NetworkSpec& spec, const kernels::Kernels& kernels);

  struct Layer {
    std::size_t inputs, outputs, columns;
    std::size_t packed;  // where W begins
    Activation f;
  };
  const std::vector<Layer>& layers() const { return layers_; }
  static Packing packing(const NetworkSpec& spec);

  /// The scores [n, columns] of the rows at w.
  float* forward(const float* w, const kernels::InputRows& rows);

  /// The gradient from the derivative by the scores, which stands in their place.  Comes after
  /// forward() of the same rows and g.w.
  void backward(const kernels::InputRows& rows, const kernels::WeightFold& g);

 private:
  kernels::InputRows map_below(std::size_t layer, std::size_t n) const;
  void activate(Activation f, Aligned<float>& y) const;
  void times_slope(Activation f, const Aligned<float>& y, Aligned<float>& dy) const;

  const kernels::Kernels& kernels_;
  std::vector<Layer> layers_;
  std::vector<Aligned<float>> maps_;  // [n, columns] each
  Aligned<float> derivatives_[2];
  Aligned<float> turned_;  // scratch of the kernels
};

}  // namespace gradrace
