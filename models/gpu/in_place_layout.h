#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/gpu/kernels/in_place_network.h"
#include "models/layers/layer_table.h"

namespace gradrace {

/// Where a network of dense layers has its numbers while a block keeps it in place.
struct InPlaceLayout {
  std::vector<kernels::InPlaceLayer> layers;
  kernels::InPlaceNetwork network{};  // without its layers

  InPlaceLayout(std::span<const kernels::Layer> of, const kernels::Network<float>& rest) {
    network.of = rest;
    dense_ = rest.l2 == 0 && std::ranges::all_of(of, [](const auto& layer) {
               return layer.kind == kernels::kind_of<kernels::DenseSteps>;
             });
    for (std::size_t l = 0; dense_ && l < of.size(); ++l) add(of[l], l + 1 == of.size());
  }

  /// Finds places in shared memory, of so many bytes: for two blocks of a processor, else for one;
  /// of fewer rows at once where that needs be.  False: there are none.
  bool fits(std::size_t shared_memory) {
    constexpr std::uint32_t most = kernels::InPlaceNetwork::most_together;
    constexpr std::size_t of_a_block = 1024;  // what the driver takes of each
    if (!dense_) return false;
    if (place(most, (shared_memory - std::min(shared_memory, of_a_block)) / 2)) return true;
    for (std::uint32_t rows = most; rows > 0; rows -= 8)
      if (place(rows, shared_memory)) return true;
    return false;
  }

 private:
  using Panel = kernels::Panel;

  static std::uint32_t in_units(std::uint32_t n, std::uint32_t unit) {
    return (n + unit - 1) / unit;
  }

  void add(const kernels::Layer& from, bool last) {
    constexpr std::uint32_t crews = kernels::InPlaceNetwork::crews;
    kernels::InPlaceLayer layer{};
    layer.outputs = from.outputs;
    layer.inputs = from.depth;
    layer.high = last ? in_units(from.outputs, 16) : 2 * in_units(from.outputs, 32);
    layer.wide = in_units(from.depth, Panel::columns);
    layer.slices = std::clamp(crews / layer.high, 1u, layer.wide);  // one for each crew
    layer.first = from.first;
    layer.at = network.numbers;
    layer.x = network.per_row;
    layer.delta = layer.x + (layers.empty() ? 0 : layer.input_stride());
    layer.y = network.work_per_row;
    layer.f = from.f;
    network.numbers += layer.numbers();
    network.per_row = layer.delta + layer.stride();
    network.work_per_row += last ? 0 : layer.stride();
    layers.push_back(layer);
  }

  bool place(std::uint32_t together, std::size_t bytes) {
    if (place(together, bytes / sizeof(float), false)) return true;
    return place(together, bytes / sizeof(float), true);
  }

  /// streams: some panels may have to stay in memory.
  bool place(std::uint32_t together, std::size_t most, bool streams) {
    std::uint32_t parts = 0, rows = 0;
    for (const auto& layer : layers) {
      const bool last = &layer == &layers.back();  // whose scores have exponentials
      if (layer.slices > 1 || last)
        parts = std::max(parts, std::max(layer.slices, last + 1u) * together * layer.outputs);
      const bool bytes = layer.first == 0 && network.of.train.bytes != nullptr;
      rows = std::max(rows, together * layer.input_stride() / (bytes ? 4 : 1));
    }
    network.together = together;
    network.run = kernels::in_fours(parts);
    network.changes = network.run + kernels::InPlaceNetwork::run_numbers;
    network.drawn = network.changes + kernels::InPlaceNetwork::kept_changes *
                                          sizeof(kernels::InPlaceChange) / sizeof(float);
    network.ring = network.drawn + 2 * kernels::InPlaceNetwork::most_together;
    network.old_rows =
        network.ring + (streams ? 2 * kernels::InPlaceNetwork::crews * Panel::numbers : 0);
    network.new_rows = network.old_rows + rows;
    network.shared = network.new_rows + rows;
    if (network.shared > most) return false;
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      layer->streams = layer->numbers() > most - network.shared;
      if (layer->streams && !streams) return false;
      layer->shared = network.shared;
      if (!layer->streams) network.shared += layer->numbers();
    }
    return true;
  }

  bool dense_ = false;
};

}  // namespace gradrace
