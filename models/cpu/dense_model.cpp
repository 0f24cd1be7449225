#include "models/cpu/dense_model.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/cpu/dense_network.h"
#include "models/cpu/grouped_minibatch.h"
#include "models/cpu/packed_model.h"

namespace gradrace {

namespace {

using kernels::columns_of_few;
using kernels::in_lanes;
using kernels::lane_count;

std::size_t outputs_of(const SupervisedParts& parts) { return parts.spec.output().numbers(); }

/// Where a weight is in W [groups, outputs, lane_count].
std::size_t weight_at(std::size_t place, std::size_t output, std::size_t outputs) {
  return (place / lane_count * outputs + output) * lane_count + place % lane_count;
}

/// W and b [columns].
Packing packing_of(std::size_t outputs, const GroupPlaces& places) {
  std::vector<Packing::Stretch> stretches;
  const auto add = [&](std::size_t at) {
    const bool goes_on =
        !stretches.empty() && at == stretches.back().place + stretches.back().count;
    if (!goes_on) stretches.push_back({at, 0, 1});
    ++stretches.back().count;
  };
  const std::size_t b = outputs * places.count;
  for (std::size_t o = 0; o < outputs; ++o)
    for (const std::uint32_t place : places.of_feature) add(weight_at(place, o, outputs));
  for (std::size_t o = 0; o < outputs; ++o) add(b + o);
  return {std::move(stretches), b + columns_of_few(outputs)};
}

/// Products of a single layer of few outputs, whose lanes are inputs.
class FewOutputs {
 public:
  using Minibatch = GroupedMinibatch;

  FewOutputs(const SupervisedParts& parts, const kernels::Kernels& kernels)
      : kernels_(kernels), outputs_(outputs_of(parts)) {}
  static Packing packing(const SupervisedParts& parts) {
    return packing_of(outputs_of(parts), group_places(*parts.data));
  }
  static Minibatch minibatch(const Dataset& data, const kernels::Kernels&) {
    return Minibatch(data);
  }

  /// As DenseNetwork's.
  float* forward(const float* w, const kernels::InputGroups& x) {
    scores_.resize(in_lanes(x.n * columns_of_few(outputs_)));
    kernels_.forward_few(x, w, outputs_, scores_.data());
    return scores_.data();
  }
  void backward(const kernels::InputGroups& x, const kernels::WeightFold& g) {
    kernels_.backward_few(x, scores_.data(), outputs_, g);
  }

 private:
  const kernels::Kernels& kernels_;
  const std::size_t outputs_;
  Aligned<float> scores_;
};

/// Those of any dense layers, whose lanes are outputs.
class AnyLayers : public DenseNetwork {
 public:
  using Minibatch = DenseRows;

  AnyLayers(const SupervisedParts& parts, const kernels::Kernels& kernels)
      : DenseNetwork(parts.spec, kernels) {}
  static Packing packing(const SupervisedParts& parts) { return DenseNetwork::packing(parts.spec); }
  static Minibatch minibatch(const Dataset& data, const kernels::Kernels& kernels) {
    return {data, kernels};
  }
};

template <class Products>
class DenseModel final : public PackedModel {
 public:
  explicit DenseModel(const SupervisedParts& parts)
      : PackedModel(parts, Products::packing(parts)),
        outputs_(outputs_of(parts)),
        products_(parts, kernels_),
        minibatch_(Products::minibatch(*parts_.data, kernels_)),
        block_(*parts_.data, kernels_) {}

  void prepare() override { minibatch_.prepare(), block_.prepare(); }

  void gradient_of_packed(const float* w, const MinibatchName& name,
                          const Fold<float>& into) override {
    const float share = 1 / static_cast<float>(name.size);
    over_rows(minibatch_, name, w, into, [&](const kernels::WeightFold& g) {
      const auto& x = minibatch_.x();
      differentiate(products_.forward(w, x), x.n, share);
      products_.backward(x, g);
    });
  }

 private:
  /// The scores become the loss's derivatives by them.
  void differentiate(float* scores, std::size_t n, float share) {
    const kernels::RowLabels labels = minibatch_.labels();
    if (outputs_ == 1) return kernels_.slopes_of_one(parts_.loss, scores, n, labels, share);
    kernels_.softmax_slopes(scores, n, in_lanes(outputs_), outputs_, labels.classes, share);
  }

  std::vector<LossSum> pass(bool test, std::span<const std::uint32_t> rows,
                            std::span<const float* const> values) override {
    if (parts_.spec.layers().size() == 1) return pass_side_by_side(block_, test, rows, values);
    std::vector<LossSum> sums(values.size());
    if constexpr (std::is_same_v<Products, AnyLayers>)
      each_block(block_, test, rows, [&] { add_block(values, sums); });
    return sums;
  }

  void add_block(std::span<const float* const> values, std::span<LossSum> sums) {
    kernels::InputRows x = block_.x();
    losses_.resize(in_lanes(x.n)), wrong_.resize(in_lanes(x.n));
    for (std::size_t v = 0; v < values.size(); ++v) {
      const float* const scores = products_.forward(values[v], x);
      x.soon = {};  // fetched once
      kernels_.softmax_losses(scores, x.n, in_lanes(outputs_), outputs_, block_.labels().classes,
                              losses_.data(), wrong_.data());
      add_losses(sums[v], x.n);
    }
  }

  const std::size_t outputs_;
  Products products_;
  typename Products::Minibatch minibatch_;
  DenseRows block_;
};

}  // namespace

bool has_few_outputs(const SupervisedParts& parts) {
  return parts.spec.layers().size() == 1 && outputs_of(parts) <= kernels::most_few &&
         groups_pay(*parts.data, outputs_of(parts));
}

std::unique_ptr<Model<float>> make_dense_model(const SupervisedParts& parts, bool few_outputs) {
  if (few_outputs) return std::make_unique<DenseModel<FewOutputs>>(parts);
  return std::make_unique<DenseModel<AnyLayers>>(parts);
}

}  // namespace gradrace
