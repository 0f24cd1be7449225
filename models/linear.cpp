#include "models/linear.h"

#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <utility>

#include "models/supervised_model.h"
#include "sim/random.h"

namespace gradrace {
namespace {

template <class Real>
class Linear final : public Supervised<Real> {
 public:
  Linear(const SupervisedConfig& config, std::unique_ptr<Loss<Real>> loss, double init_sd)
      : Supervised<Real>(config, std::move(loss)),
        layer_{this->data().features, this->outputs()},
        init_sd_(init_sd) {}

  void initialise(std::uint64_t seed, std::uint32_t replica, std::span<Real> w) override {
    std::ranges::fill(w, Real{0});
    if (init_sd_ == 0) return;
    Stream words = stream({seed, replica, Purpose::initial_weights, 0, 0});
    boost::random::normal_distribution<double> normal(0, init_sd_);
    for (Real& x : w) x = static_cast<Real>(normal(words));
  }

 private:
  std::span<const Dense> layers() const override { return {&layer_, 1}; }

  std::vector<kernels::Layer> kernel_layers() const override {
    return {layer_.kernel_layer(kernels::Function::identity)};
  }

  void forward(const Real* w, const Batch<Real>& batch, Units<Real>& scores) override {
    layer_.forward(w, batch.x, scores);
  }

  void backward(const Real*, const Batch<Real>& batch, const Units<Real>& by_scores,
                Real* g) override {
    layer_.backward(batch.x, by_scores, g);
  }

  Dense layer_;
  double init_sd_;
};

}  // namespace

template <class Real>
std::unique_ptr<Model<Real>> make_linear(const SupervisedConfig& config,
                                         std::unique_ptr<Loss<Real>> loss, double init_sd) {
  return std::make_unique<Linear<Real>>(config, std::move(loss), init_sd);
}

template std::unique_ptr<Model<float>> make_linear(const SupervisedConfig&,
                                                   std::unique_ptr<Loss<float>>, double);
template std::unique_ptr<Model<double>> make_linear(const SupervisedConfig&,
                                                    std::unique_ptr<Loss<double>>, double);

}  // namespace gradrace
