#include "models/cpu/dense_model.h"

#include <vector>

#include "models/cpu/dense_network.h"
#include "models/cpu/packed_model.h"

namespace gradrace {

namespace {

using kernels::in_lanes;

class DenseModel final : public PackedModel {
 public:
  explicit DenseModel(const SupervisedParts& parts)
      : PackedModel(parts, DenseNetwork::packing(parts.spec)),
        network_(parts.spec, kernels_),
        minibatch_(*parts_.data, kernels_),
        block_(*parts_.data, kernels_) {}

  void prepare() override { block_.prepare(); }

  void gradient_of_packed(const float* w, const MinibatchName& name,
                          const Fold<float>& into) override {
    const DenseNetwork::Layer& last = network_.layers().back();
    const float share = 1 / static_cast<float>(name.size);
    over_rows(minibatch_, name, w, into, [&](const kernels::WeightFold& g) {
      const kernels::InputRows& x = minibatch_.x();
      kernels_.softmax_slopes(network_.forward(w, x), x.n, last.columns, last.outputs,
                              minibatch_.labels().classes, share);
      network_.backward(x, g);
    });
  }

 private:
  std::vector<LossSum> pass(bool test, std::span<const std::uint32_t> rows,
                            std::span<const float* const> values) override {
    if (network_.layers().size() == 1) return pass_side_by_side(block_, test, rows, values);
    std::vector<LossSum> sums(values.size());
    each_block(block_, test, rows, [&] { add_block(values, sums); });
    return sums;
  }

  void add_block(std::span<const float* const> values, std::span<LossSum> sums) {
    kernels::InputRows x = block_.x();
    const DenseNetwork::Layer& last = network_.layers().back();
    losses_.resize(in_lanes(x.n)), wrong_.resize(in_lanes(x.n));
    for (std::size_t v = 0; v < values.size(); ++v) {
      const float* const scores = network_.forward(values[v], x);
      x.soon = {};  // fetched once
      kernels_.softmax_losses(scores, x.n, last.columns, last.outputs, block_.labels().classes,
                              losses_.data(), wrong_.data());
      add_losses(sums[v], x.n);
    }
  }

  DenseNetwork network_;
  DenseRows minibatch_, block_;
};

}  // namespace

std::unique_ptr<Model<float>> make_dense_model(const SupervisedParts& parts) {
  return std::make_unique<DenseModel>(parts);
}

}  // namespace gradrace
