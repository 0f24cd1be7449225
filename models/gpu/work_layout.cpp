#include "models/gpu/work_layout.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "models/layers/layer_table.h"
#include "sim/check.h"

namespace gradrace {

namespace {

using kernels::Layer;

/// Places for derivatives, each as wide as the widest that ever stands there.
class Shelf {
 public:
  /// The first that is free.
  std::size_t take(std::uint32_t units) {
    const auto free = std::ranges::find(taken_, false);
    const auto place = static_cast<std::size_t>(free - taken_.begin());
    if (free == taken_.end()) taken_.push_back(false), widths_.push_back(0);
    taken_[place] = true;
    widths_[place] = std::max(widths_[place], units);
    return place;
  }
  void give_back(std::size_t place) { taken_[place] = false; }

  const std::vector<std::uint32_t>& widths() const { return widths_; }

 private:
  std::vector<bool> taken_;
  std::vector<std::uint32_t> widths_;
};

/// Where on the shelf the derivative by each layer stands, from the last layer to the first.
std::vector<std::optional<std::size_t>> put_derivatives(std::span<Layer> layers, Shelf& shelf) {
  std::vector<std::optional<std::size_t>> places(layers.size());
  for (std::size_t l = layers.size() - 1; l > 0; --l) {
    Layer& layer = layers[l];
    if (layer.kind == kernels::kind_of<kernels::ShortcutSteps>) {
      GRADRACE_CHECK(places[l] && !places[layer.from],
                     "one shortcut looks at a layer, and is not the last");
      places[l - 1] = places[l];
      places[layer.from] = shelf.take(layers[layer.from].units());
      continue;
    }
    layer.adds = places[l - 1].has_value();
    if (!layer.adds) places[l - 1] = shelf.take(layers[l - 1].units());
    if (places[l]) shelf.give_back(*places[l]);
  }
  return places;
}

}  // namespace

std::uint32_t lay_out(std::span<kernels::Layer> layers) {
  std::uint32_t next = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const bool in_place = layers[l].kind == kernels::kind_of<kernels::ShortcutSteps>;
    layers[l].y = in_place ? layers[l - 1].y : next;
    if (!in_place) next += kernels::in_fours(layers[l].units());
    layers[l].kept = next;
    kernels::with_steps(layers[l].kind,
                        [&](auto steps) { next += kernels::in_fours(steps.kept(layers[l])); });
  }
  Shelf shelf;
  const auto places = put_derivatives(layers, shelf);
  std::vector<std::uint32_t> begins;
  for (const std::uint32_t width : shelf.widths())
    begins.push_back(next), next += kernels::in_fours(width);
  for (std::size_t l = 0; l < layers.size(); ++l)
    layers[l].by_y = places[l] ? begins[*places[l]] : layers[l].y;
  layers[0].x = next;
  for (std::size_t l = 1; l < layers.size(); ++l) {
    const Layer& before =
        layers[layers[l].kind == kernels::kind_of<kernels::ShortcutSteps> ? layers[l].from : l - 1];
    layers[l].x = before.y, layers[l].by_x = before.by_y, layers[l].before = before.f;
  }
  return next;
}

}  // namespace gradrace
