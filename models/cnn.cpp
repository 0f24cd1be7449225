#include "models/cnn.h"

#include <string_view>
#include <utility>

#include "models/cifar10_full.h"
#include "models/layers/convolution.h"
#include "models/layers/dense_layers.h"
#include "models/supervised_model.h"
#include "sim/random.h"

namespace gradrace {
namespace {

constexpr Page page{
    "cnn",
    "Convolutional network on data sets of images.  Net `lenet`: for each of `channels` a "
    "convolution of kernel x kernel without padding to so many channels, the greatest of each 2 x "
    "2, plus b, then f; then hidden layers y = f(W x + b) of the widths `dense`, scores s = W y + "
    "b, softmax and cross-entropy.  Pooling leaves out an odd last row or column.  Objective: mean "
    "cross-entropy + l2 sum ||W||_F^2 over all layers (no factor 1/2; b is not regularised).  "
    "Every W starts as N(0, v), v = 2 / fan_in for relu and 2 / (fan_in + fan_out) for tanh, with "
    "fans of channels x kernel^2 in a convolution, layer after layer in one stream; every b at 0.  "
    "Net `cifar10-full`, of which 32 x 32 x 3 has 89,578 parameters: three convolutions of 5 x 5, "
    "padding 2, to 32, 32 and 64 channels, plus b; after the first the greatest of each 3 x 3 in "
    "steps of 2, then relu; after the others relu, then the mean of each 3 x 3 in steps of 2; a "
    "last window over the edge has what is there; after the first two x / (1 + 5e-5 / 9 sum of x^2 "
    "in the channel's 3 x 3 around)^0.75; then s = W y + b.  There W starts as N(0, sd^2), sd = "
    "1e-4 in the first convolution and 1e-2 elsewhere: made for features of bytes less their mean "
    "(cifar10 with `divisor` 1).  Caffe's rates and decays of single layers are not in it.  Losses "
    "and errors on the test rows as those of softmax.",
    "LeCun, Bottou, Bengio, Haffner, Proc. IEEE 86(11), 1998, sec. II; start as mlp; cifar10-full: "
    "Krizhevsky, cuda-convnet, 2011, layers-18pct, as Caffe's examples/cifar10 has it",
    R"({"kind": "cnn", "dataset": {"kind": "synthetic", "features": 144, "height": 12, "width": 12},
        "channels": [4, 8], "kernel": 3, "dense": [32]})"};

template <class Real>
class Cnn final : public Supervised<Real> {
 public:
  explicit Cnn(const CnnConfig& config)
      : Supervised<Real>(config, cross_entropy<Real>(), block_rows),
        f_(activation_named(config.activation)),
        convolutions_(convolutions(config, this->images("cnn"))),
        maps_(convolutions_.size()),
        by_maps_(convolutions_.size()),
        network_(convolutions_.back().output().numbers(), config.dense, this->outputs(), f_,
                 convolutions_.back().layer().end()) {
    for (const auto& convolution : convolutions_) layers_.push_back(convolution.layer());
    layers_.insert(layers_.end(), network_.layers().begin(), network_.layers().end());
  }

  void initialise(std::uint64_t seed, std::uint32_t replica, std::span<Real> w) override {
    Stream words = stream({seed, replica, Purpose::initial_weights, 0, 0});
    for (const auto& convolution : convolutions_) {
      const Dense& layer = convolution.layer();
      layer.initialise(initial_sd(f_, layer.inputs, convolution.fan_out()), words, w.data());
    }
    network_.initialise(words, w.data());
  }

 private:
  static constexpr std::size_t block_rows = 32;

  static std::vector<Convolution<Real>> convolutions(const CnnConfig& config, ImageShape images) {
    std::vector<Convolution<Real>> result;
    for (const std::uint64_t channels : config.channels) {
      const std::size_t first = result.empty() ? 0 : result.back().layer().end();
      result.emplace_back(images, channels, config.kernel, first);
      images = result.back().output();
    }
    return result;
  }

  std::span<const Dense> layers() const override { return layers_; }

  std::vector<kernels::Layer> kernel_layers() const override {
    std::vector<kernels::Layer> layers;
    for (const auto& convolution : convolutions_)
      layers.push_back(convolution.kernel_layer(kernel_function(f_)));
    network_.add_kernel_layers(layers);
    return layers;
  }

  void forward(const Real* w, const Batch<Real>& batch, Units<Real>& scores) override {
    images_ = batch.x;
    for (std::size_t l = 0; l < convolutions_.size(); ++l) {
      convolutions_[l].forward(w, before(l), maps_[l]);
      activate(f_, maps_[l]);
    }
    network_.forward(w, maps_.back(), scores);
  }

  void backward(const Real* w, const Batch<Real>&, const Units<Real>& by_scores, Real* g) override {
    network_.backward(w, maps_.back(), by_scores, g, &by_maps_.back());
    for (std::size_t l = convolutions_.size(); l-- > 0;) {
      times_slope(f_, maps_[l], by_maps_[l]);
      convolutions_[l].backward(w, before(l), by_maps_[l], g, l > 0 ? &by_maps_[l - 1] : nullptr);
    }
  }

  /// What convolution l looks at.
  const Units<Real>& before(std::size_t l) const { return l == 0 ? images_ : maps_[l - 1]; }

  Activation f_;
  std::vector<Convolution<Real>> convolutions_;
  Units<Real> images_;                       // [n, features]
  std::vector<Units<Real>> maps_, by_maps_;  // after each convolution
  DenseLayers<Real> network_;
  std::vector<Dense> layers_;
};

void visit_lenet(Fields& fields, CnnConfig& config) {
  fields.integers("channels", config.channels, Need::defaulted, between(1, 1e4),
                  "of each convolution's output");
  fields.integer("kernel", config.kernel, Need::defaulted, between(1, 1e3),
                 "height and width of a convolution");
  fields.integers("dense", config.dense, Need::defaulted, between(1, 1e6),
                  "units of each hidden layer after the convolutions; [] for none");
  visit_activation(fields, config.activation, "f of convolutions and hidden layers");
}

ModelProduct read(Fields& fields, DataShelf& shelf) {
  CnnConfig config;
  constexpr std::string_view nets[] = {"lenet", "cifar10-full"};
  visit(fields, config, "sum ||W||_F^2", shelf);
  visit_images(fields, config);
  fields.choice("net", config.net, nets, Need::defaulted,
                "lenet has the keys that follow, cifar10-full none");
  if (config.net == "lenet") visit_lenet(fields, config);
  if (!fields.good()) return nullptr;
  if (config.channels.empty()) {
    fields.complain("channels", "must hold at least one number, got none");
    return nullptr;
  }
  return std::make_shared<SupervisedSpec<CnnConfig>>(config, make_cnn<float>, make_cnn<double>);
}

}  // namespace

template <class Real>
std::unique_ptr<Model<Real>> make_cnn(const CnnConfig& config) {
  if (config.net == "cifar10-full") return make_cifar10_full<Real>(config);
  return std::make_unique<Cnn<Real>>(config);
}

template std::unique_ptr<Model<float>> make_cnn(const CnnConfig&);
template std::unique_ptr<Model<double>> make_cnn(const CnnConfig&);

extern const ModelEntry cnn_entry{page, read};

}  // namespace gradrace
