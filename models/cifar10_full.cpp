#include "models/cifar10_full.h"

#include <vector>

#include "models/layers/activation.h"
#include "models/layers/padded_convolution.h"
#include "models/layers/pooling.h"
#include "models/layers/response_normalisation.h"
#include "models/supervised_model.h"
#include "sim/random.h"

namespace gradrace {
namespace {

template <class Real>
class Cifar10Full final : public Supervised<Real> {
 public:
  explicit Cifar10Full(const SupervisedConfig& config)
      : Supervised<Real>(config, cross_entropy<Real>(), block_rows),
        first_(this->images("cnn"), {.outputs = 32, .kernel = 5, .padding = 2}, 0),
        first_pooling_(Pool::greatest, first_.output()),
        first_normalisation_(first_pooling_.output()),
        second_(first_pooling_.output(), {.outputs = 32, .kernel = 5, .padding = 2},
                first_.layer().end()),
        second_pooling_(Pool::mean, second_.output()),
        second_normalisation_(second_pooling_.output()),
        third_(second_pooling_.output(), {.outputs = 64, .kernel = 5, .padding = 2},
               second_.layer().end()),
        third_pooling_(Pool::mean, third_.output()),
        layers_{first_.layer(), second_.layer(), third_.layer(),
                Dense{third_pooling_.output().numbers(), this->outputs(), third_.layer().end()}} {}

  void initialise(std::uint64_t seed, std::uint32_t replica, std::span<Real> w) override {
    Stream words = stream({seed, replica, Purpose::initial_weights, 0, 0});
    constexpr double sds[] = {1e-4, 1e-2, 1e-2, 1e-2};
    for (std::size_t l = 0; l < layers_.size(); ++l) layers_[l].initialise(sds[l], words, w.data());
  }

 private:
  static constexpr std::size_t block_rows = 32;

  std::span<const Dense> layers() const override { return layers_; }

  std::vector<kernels::Layer> kernel_layers() const override {
    using kernels::Function;
    return {first_.kernel_layer(Function::identity),
            first_pooling_.kernel_layer(Function::relu),
            first_normalisation_.kernel_layer(),
            second_.kernel_layer(Function::relu),
            second_pooling_.kernel_layer(Function::identity),
            second_normalisation_.kernel_layer(),
            third_.kernel_layer(Function::relu),
            third_pooling_.kernel_layer(Function::identity),
            layers_.back().kernel_layer(Function::identity)};
  }

  void forward(const Real* w, const Batch<Real>& batch, Units<Real>& scores) override {
    images_ = batch.x;
    first_.forward(w, images_, z_);
    first_pooling_.forward(z_, first_pooled_);
    activate(Activation::relu, first_pooled_);
    first_normalisation_.forward(first_pooled_, first_map_);
    second_.forward(w, first_map_, second_z_);
    activate(Activation::relu, second_z_);
    second_pooling_.forward(second_z_, second_pooled_);
    second_normalisation_.forward(second_pooled_, second_map_);
    third_.forward(w, second_map_, third_z_);
    activate(Activation::relu, third_z_);
    third_pooling_.forward(third_z_, third_map_);
    layers_.back().forward(w, third_map_, scores);
  }

  void backward(const Real* w, const Batch<Real>&, const Units<Real>& by_scores, Real* g) override {
    layers_.back().backward(third_map_, by_scores, g);
    layers_.back().propagate(w, by_scores, by_map_);
    third_pooling_.backward(by_map_, by_z_);
    times_slope(Activation::relu, third_z_, by_z_);
    third_.backward(w, second_map_, by_z_, g, &by_map_);
    second_normalisation_.backward(second_pooled_, by_map_, by_pooled_);
    second_pooling_.backward(by_pooled_, by_z_);
    times_slope(Activation::relu, second_z_, by_z_);
    second_.backward(w, first_map_, by_z_, g, &by_map_);
    first_normalisation_.backward(first_pooled_, by_map_, by_pooled_);
    times_slope(Activation::relu, first_pooled_, by_pooled_);
    first_pooling_.backward(by_pooled_, by_z_);
    first_.backward(w, images_, by_z_, g, nullptr);
  }

  PaddedConvolution<Real> first_;
  Pooling<Real> first_pooling_;
  ResponseNormalisation<Real> first_normalisation_;
  PaddedConvolution<Real> second_;
  Pooling<Real> second_pooling_;
  ResponseNormalisation<Real> second_normalisation_;
  PaddedConvolution<Real> third_;
  Pooling<Real> third_pooling_;
  std::vector<Dense> layers_;

  Units<Real> images_;                              // [n, features]
  Units<Real> z_, second_z_, third_z_;              // after each convolution
  Units<Real> first_pooled_, second_pooled_;        // before the normalisation
  Units<Real> first_map_, second_map_, third_map_;  // what the next layer looks at
  Units<Real> by_map_, by_pooled_, by_z_;           // the derivatives by them
};

}  // namespace

template <class Real>
std::unique_ptr<Model<Real>> make_cifar10_full(const SupervisedConfig& config) {
  return std::make_unique<Cifar10Full<Real>>(config);
}

template std::unique_ptr<Model<float>> make_cifar10_full(const SupervisedConfig&);
template std::unique_ptr<Model<double>> make_cifar10_full(const SupervisedConfig&);

}  // namespace gradrace
