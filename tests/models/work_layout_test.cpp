#include "models/work_layout.h"

#include <doctest/doctest.h>

#include <vector>

namespace gradrace {

using kernels::Layer;
using kernels::LayerKind;

static Layer layer_of(LayerKind kind, std::uint32_t units, std::uint32_t from = 0) {
  return {.kind = kind, .outputs = units, .from = from};
}

TEST_CASE("work layout: derivatives of a chain take turns in two places") {
  std::vector<Layer> layers{layer_of(LayerKind::convolution, 5), layer_of(LayerKind::dense, 9),
                            layer_of(LayerKind::dense, 7), layer_of(LayerKind::dense, 3)};
  // What they give, 24 numbers, the winners of the first, then 7 and 5 in the first place and 9 in
  // the second.
  CHECK(lay_out(layers) == 24 + 5 + 7 + 9);
  CHECK(layers[0].kept == 5);
  CHECK(layers[1].y == 10);
  CHECK(layers[3].by_y == layers[3].y);
  CHECK(layers[2].by_y == 29);
  CHECK(layers[1].by_y == 36);
  CHECK(layers[0].by_y == 29);
  for (const Layer& layer : layers) CHECK_FALSE(layer.adds);
}

TEST_CASE("work layout: a derivative stays until every layer that looked there has added to it") {
  std::vector<Layer> layers{layer_of(LayerKind::dense, 6), layer_of(LayerKind::dense, 6),
                            layer_of(LayerKind::dense, 6), layer_of(LayerKind::shortcut, 6, 0),
                            layer_of(LayerKind::dense, 2)};
  CHECK(lay_out(layers) == 3 * 6 + 2 + 3 * 6);
  CHECK(layers[3].y == layers[2].y);
  CHECK(layers[3].by_y == layers[2].by_y);
  CHECK(layers[0].by_y != layers[1].by_y);
  CHECK(layers[0].by_y != layers[2].by_y);
  CHECK(layers[1].by_y != layers[2].by_y);
  CHECK(layers[1].adds);  // to what the shortcut has left of the derivative by the first
  CHECK_FALSE(layers[2].adds);
  CHECK_FALSE(layers[4].adds);
}

}  // namespace gradrace
