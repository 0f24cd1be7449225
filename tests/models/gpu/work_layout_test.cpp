#include "models/gpu/work_layout.h"

#include <doctest/doctest.h>

#include <vector>

#include "models/layers/layer_table.h"

namespace gradrace::work_layout_test {

using kernels::ConvolutionSteps, kernels::DenseSteps, kernels::ShortcutSteps;
using kernels::kind_of, kernels::Layer, kernels::LayerKind;

static Layer layer_of(LayerKind kind, std::uint32_t units, std::uint32_t from = 0) {
  return {.kind = kind, .outputs = units, .from = from};
}

TEST_CASE("work layout: derivatives of a chain take turns in two places") {
  std::vector<Layer> layers{layer_of(kind_of<ConvolutionSteps>, 5),
                            layer_of(kind_of<DenseSteps>, 9), layer_of(kind_of<DenseSteps>, 7),
                            layer_of(kind_of<DenseSteps>, 3)};
  layers[0].pools = true;
  // In fours what they give, the winners of the first, then 7 and 5 in the first place and 9 in the
  // second.
  CHECK(lay_out(layers) == (8 + 12 + 8 + 4) + 8 + 8 + 12);
  CHECK(layers[0].kept == 8);
  CHECK(layers[1].y == 16);
  CHECK(layers[3].by_y == layers[3].y);
  CHECK(layers[2].by_y == 40);
  CHECK(layers[1].by_y == 48);
  CHECK(layers[0].by_y == 40);
  CHECK(layers[0].x == 60);
  CHECK(layers[1].x == layers[0].y);
  CHECK(layers[1].by_x == layers[0].by_y);
  for (const Layer& layer : layers) CHECK_FALSE(layer.adds);
}

TEST_CASE("work layout: a derivative stays until every layer that looked there has added to it") {
  std::vector<Layer> layers{layer_of(kind_of<DenseSteps>, 6), layer_of(kind_of<DenseSteps>, 6),
                            layer_of(kind_of<DenseSteps>, 6),
                            layer_of(kind_of<ShortcutSteps>, 6, 0),
                            layer_of(kind_of<DenseSteps>, 2)};
  CHECK(lay_out(layers) == 3 * 8 + 4 + 3 * 8);
  CHECK(layers[3].y == layers[2].y);
  CHECK(layers[3].by_y == layers[2].by_y);
  CHECK(layers[3].x == layers[0].y);
  CHECK(layers[3].by_x == layers[0].by_y);
  CHECK(layers[0].by_y != layers[1].by_y);
  CHECK(layers[0].by_y != layers[2].by_y);
  CHECK(layers[1].by_y != layers[2].by_y);
  CHECK(layers[1].adds);  // to what the shortcut has left of the derivative by the first
  CHECK_FALSE(layers[2].adds);
  CHECK_FALSE(layers[4].adds);
}

}  // namespace gradrace::work_layout_test
