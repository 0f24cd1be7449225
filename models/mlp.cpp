#include "models/mlp.h"

#include "models/layers/dense.h"

namespace gradrace {
namespace {

constexpr Page page{
    "mlp",
    "Multilayer perceptron: hidden layers y = f(W x + b) of the `widths`, then scores s = W y + b "
    "and softmax with cross-entropy; without hidden layers it is softmax.  Objective: mean "
    "cross-entropy + l2 sum ||W||_F^2 over all layers (no factor 1/2; b is not regularised).  "
    "Every W starts as N(0, v), v = 2 / inputs for relu and 2 / (inputs + outputs) for tanh, layer "
    "after layer in one stream; every b at 0.  Losses and errors on the test rows as those of "
    "softmax.",
    "Goodfellow, Bengio, Courville, Deep Learning, 2016, ch. 6; start: He et al., ICCV 2015, eq. "
    "10; Glorot, Bengio, AISTATS 2010, eq. 12",
    R"({"kind": "mlp", "dataset": {"kind": "synthetic"}, "widths": [64, 32], "activation": "tanh"})"};

ModelProduct read(Fields& fields, DataShelf& shelf) {
  MlpConfig config;
  visit(fields, config, "sum ||W||_F^2", shelf);
  fields.integers("widths", config.widths, Need::required, between(1, 1e6),
                  "units of each hidden layer; [] for none");
  visit_activation(fields, config.activation, "f of the hidden layers");
  if (!fields.good()) return nullptr;
  return make_mlp(config);
}

}  // namespace

ModelProduct make_mlp(const MlpConfig& config) {
  return make_supervised(
      config, LossKind::cross_entropy, [config](const Dataset& data, std::size_t outputs) {
        NetworkSpec network({data.features, 1, 1});
        add_dense_layers(network, config.widths, activation_named(config.activation), outputs);
        return network;
      });
}

extern const ModelEntry mlp_entry{page, read};

}  // namespace gradrace
