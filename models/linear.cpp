#include "models/linear.h"

#include "models/layers/dense.h"

namespace gradrace {

ModelProduct make_linear(const SupervisedConfig& config, LossKind loss, double init_sd) {
  return make_supervised(config, loss, [init_sd](const Dataset& data, std::size_t outputs) {
    NetworkSpec network({data.features, 1, 1});
    LayerSpec layer = dense(network.output(), outputs, init_sd);
    layer.random_bias = true;
    network.add(layer);
    return network;
  });
}

}  // namespace gradrace
