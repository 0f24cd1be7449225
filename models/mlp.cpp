#include "models/mlp.h"

#include <string_view>

#include "models/layers/dense_layers.h"
#include "models/supervised_model.h"
#include "sim/random.h"

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

template <class Real>
class Mlp final : public Supervised<Real> {
 public:
  explicit Mlp(const MlpConfig& config)
      : Supervised<Real>(config, cross_entropy<Real>()),
        network_(this->data().features, config.widths, this->outputs(),
                 activation_named(config.activation)) {}

  void initialise(std::uint64_t seed, std::uint32_t replica, std::span<Real> w) override {
    Stream words = stream({seed, replica, Purpose::initial_weights, 0, 0});
    network_.initialise(words, w.data());
  }

 private:
  std::span<const Dense> layers() const override { return network_.layers(); }

  std::vector<kernels::Layer> kernel_layers() const override {
    std::vector<kernels::Layer> layers;
    network_.add_kernel_layers(layers);
    return layers;
  }

  void forward(const Real* w, const Batch<Real>& batch, Units<Real>& scores) override {
    network_.forward(w, batch.x, scores);
  }

  void backward(const Real* w, const Batch<Real>& batch, const Units<Real>& by_scores,
                Real* g) override {
    network_.backward(w, batch.x, by_scores, g);
  }

  DenseLayers<Real> network_;
};

ModelProduct read(Fields& fields, DataShelf& shelf) {
  MlpConfig config;
  visit(fields, config, "sum ||W||_F^2", shelf);
  fields.integers("widths", config.widths, Need::required, between(1, 1e6),
                  "units of each hidden layer; [] for none");
  visit_activation(fields, config.activation, "f of the hidden layers");
  if (!fields.good()) return nullptr;
  return std::make_shared<SupervisedSpec<MlpConfig>>(config, make_mlp<float>, make_mlp<double>);
}

}  // namespace

template <class Real>
std::unique_ptr<Model<Real>> make_mlp(const MlpConfig& config) {
  return std::make_unique<Mlp<Real>>(config);
}

template std::unique_ptr<Model<float>> make_mlp(const MlpConfig&);
template std::unique_ptr<Model<double>> make_mlp(const MlpConfig&);

extern const ModelEntry mlp_entry{page, read};

}  // namespace gradrace
