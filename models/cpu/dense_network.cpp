#include "models/cpu/dense_network.h"

#include <algorithm>
#include <utility>

#include "models/layers/layer_table.h"

namespace gradrace {

using kernels::in_lanes;
using kernels::lane_count;

bool is_dense(const NetworkSpec& spec) {
  return std::ranges::all_of(spec.layers(), [](const LayerSpec& layer) {
    return layer.kernel.kind == kernels::kind_of<kernels::DenseSteps>;
  });
}

static std::vector<DenseNetwork::Layer> layers_of(const NetworkSpec& spec) {
  std::vector<DenseNetwork::Layer> layers;
  std::size_t packed = 0;
  for (const LayerSpec& layer : spec.layers()) {
    const std::size_t inputs = layer.kernel.depth, outputs = layer.kernel.outputs;
    layers.push_back({inputs, outputs, in_lanes(outputs), packed, layer.kernel.f});
    packed += (inputs + 1) * layers.back().columns;
  }
  return layers;
}

DenseNetwork::DenseNetwork(const NetworkSpec& spec, const kernels::Kernels& kernels)
    : kernels_(kernels), layers_(layers_of(spec)), maps_(layers_.size()) {}

Packing DenseNetwork::packing(const NetworkSpec& spec) {
  std::vector<Packing::Stretch> stretches;
  std::size_t numbers = 0;
  for (const Layer& layer : layers_of(spec)) {
    const std::size_t b = layer.packed + layer.inputs * layer.columns;
    for (std::size_t o = 0; o < layer.outputs; ++o)
      stretches.push_back({layer.packed + o, layer.inputs, layer.columns});
    stretches.push_back({b, layer.outputs, 1});
    numbers = b + layer.columns;
  }
  return {std::move(stretches), numbers};
}

kernels::InputRows DenseNetwork::map_below(std::size_t layer, std::size_t n) const {
  return {.n = n,
          .inputs = layers_[layer].inputs,
          .dense = maps_[layer - 1].data(),
          .stride = layers_[layer - 1].columns};
}

float* DenseNetwork::forward(const float* w, const kernels::InputRows& rows) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    maps_[l].reserve((rows.n + 1) * layer.columns + lane_count);  // as DenseRows does
    maps_[l].resize(rows.n * layer.columns);
    kernels_.forward(l == 0 ? rows : map_below(l, rows.n), w + layer.packed, layer.columns,
                     maps_[l].data());
    activate(layer.f, maps_[l]);
  }
  return maps_.back().data();
}

/// Of the part that begins there.
static kernels::WeightFold from(const kernels::WeightFold& g, std::size_t first) {
  const auto shifted = [=](const float* numbers) {
    return numbers == nullptr ? nullptr : numbers + first;
  };
  const Fold<float>& into = g.into;
  return {.into = {into.weight, shifted(into.sum), shifted(into.base), into.out + first},
          .decay = g.decay,
          .w = g.w + first,
          .before = shifted(g.before)};
}

void DenseNetwork::backward(const kernels::InputRows& rows, const kernels::WeightFold& g) {
  Aligned<float>* dy = &maps_.back();
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Layer& layer = layers_[l];
    const kernels::WeightFold of_layer = from(g, layer.packed);
    Aligned<float>& dx = derivatives_[l % 2];
    if (l > 0) {
      dx.resize(rows.n * in_lanes(layer.inputs));
      turned_.resize((layer.inputs + layer.outputs) * in_lanes(rows.n));
      kernels_.backward_input(dy->data(), rows.n, layer.columns, layer.outputs, of_layer.w,
                              layer.inputs, dx.data(), turned_.data());
      times_slope(layers_[l - 1].f, maps_[l - 1], dx);
    }
    // Now W may be overwritten.
    kernels_.backward(l == 0 ? rows : map_below(l, rows.n), dy->data(), layer.columns, of_layer);
    dy = &dx;
  }
}

void DenseNetwork::activate(Activation f, Aligned<float>& y) const {
  if (f == Activation::tanh) kernels_.tanhs(y.data(), y.size() / lane_count);
  if (f == Activation::relu) kernels_.relu(y.data(), y.size() / lane_count);
}

void DenseNetwork::times_slope(Activation f, const Aligned<float>& y, Aligned<float>& dy) const {
  if (f == Activation::tanh) kernels_.tanh_slopes(y.data(), dy.data(), dy.size() / lane_count);
  if (f == Activation::relu) kernels_.relu_slopes(y.data(), dy.data(), dy.size() / lane_count);
}

}  // namespace gradrace
