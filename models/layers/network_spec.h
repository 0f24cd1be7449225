#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/datasets/image_shape.h"
#include "models/layers/activation.h"
#include "models/layers/base/layer.h"
#include "models/optimiser/statistics.h"
#include "sim/tensor.h"

namespace gradrace {

template <class Real>
class CpuLayer;

/// A layer of a network, before anything computes it.
struct LayerSpec {
  kernels::Layer kernel;   // what it makes of what; its parameters' places are the network's to say
  std::size_t learnt = 0;  // parameters
  Statistics statistics = {};  // that it carries beside them
  double sd = 0;               // W starts as N(0, sd^2)
  bool random_bias = false;    // and b likewise, not as 0
  std::unique_ptr<CpuLayer<float>> (*make_float32)(const LayerSpec&) = nullptr;
  std::unique_ptr<CpuLayer<double>> (*make_float64)(const LayerSpec&) = nullptr;

  ImageShape input() const { return {kernel.channels, kernel.height, kernel.width}; }
  ImageShape output() const { return {kernel.outputs, kernel.out_height, kernel.out_width}; }
};

/// The layers of a network, each of which looks at the maps of the one before.  Parameters stand in
/// their order, then the statistics.
class NetworkSpec {
 public:
  /// rows: what the first layer looks at.
  explicit NetworkSpec(const ImageShape& rows) : output_(rows) {}

  /// The next layer, followed by f.
  void add(LayerSpec layer, Activation f = Activation::identity) {
    for (LayerSpec& other : layers_)
      other.kernel.statistics += static_cast<std::uint32_t>(layer.learnt);
    layer.kernel.f = f;
    layer.kernel.first = static_cast<std::uint32_t>(learnt_);
    learnt_ += layer.learnt;
    layer.kernel.statistics = static_cast<std::uint32_t>(learnt_ + statistics_.count);
    if (layer.statistics.count > 0)
      statistics_ = {statistics_.count + layer.statistics.count, layer.statistics.decay};
    output_ = layer.output();
    layers_.push_back(layer);
  }

  const std::vector<LayerSpec>& layers() const { return layers_; }
  /// Of the last layer.
  const ImageShape& output() const { return output_; }
  /// d, statistics included.
  std::size_t parameters() const { return learnt_ + statistics_.count; }
  const Statistics& statistics() const { return statistics_; }

  /// W, b and what else each layer has learnt, in their order.
  std::vector<Tensor> tensors() const {
    std::vector<Tensor> tensors;
    for (const LayerSpec& layer : layers_) {
      const kernels::Layer& kernel = layer.kernel;
      if (kernel.weights() > 0) tensors.push_back({kernel.outputs, kernel.depth});
      const std::size_t others = (layer.learnt - kernel.weights()) / kernel.outputs;
      tensors.insert(tensors.end(), others, {kernel.outputs});
    }
    return tensors;
  }

 private:
  std::vector<LayerSpec> layers_;
  ImageShape output_;
  std::size_t learnt_ = 0;
  Statistics statistics_;
};

}  // namespace gradrace
