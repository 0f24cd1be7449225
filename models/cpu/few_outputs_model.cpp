#include "models/cpu/few_outputs_model.h"

#include <cstddef>
#include <cstdint>
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

class FewOutputsModel final : public PackedModel {
 public:
  explicit FewOutputsModel(const SupervisedParts& parts)
      : PackedModel(parts, packing_of(outputs_of(parts), group_places(*parts.data))),
        outputs_(outputs_of(parts)),
        minibatch_(*parts_.data),
        block_(*parts_.data, kernels_) {}

  void prepare() override { minibatch_.prepare(), block_.prepare(); }

  void gradient_of_packed(const float* w, const MinibatchName& name,
                          const Fold<float>& into) override {
    const float share = 1 / static_cast<float>(name.size);
    over_rows(minibatch_, name, w, into, [&](const kernels::WeightFold& g) {
      const kernels::InputGroups& x = minibatch_.x();
      slopes_.resize(in_lanes(x.n * columns_of_few(outputs_)));
      kernels_.forward_few(x, w, outputs_, slopes_.data());
      differentiate(x.n, share);
      kernels_.backward_few(x, slopes_.data(), outputs_, g);
    });
  }

 private:
  void differentiate(std::size_t n, float share) {
    const kernels::RowLabels labels = minibatch_.labels();
    if (outputs_ == 1) return kernels_.slopes_of_one(parts_.loss, slopes_.data(), n, labels, share);
    kernels_.softmax_slopes(slopes_.data(), n, in_lanes(outputs_), outputs_, labels.classes, share);
  }

  std::vector<LossSum> pass(bool test, std::span<const std::uint32_t> rows,
                            std::span<const float* const> values) override {
    return pass_side_by_side(block_, test, rows, values);
  }

  const std::size_t outputs_;
  GroupedMinibatch minibatch_;
  DenseRows block_;
  Aligned<float> slopes_;  // scores, then the loss's derivatives by them
};

}  // namespace

bool is_few_outputs_model(const SupervisedParts& parts) {
  return is_dense(parts.spec) && parts.spec.layers().size() == 1 &&
         outputs_of(parts) <= kernels::most_few && groups_pay(*parts.data, outputs_of(parts));
}

std::unique_ptr<Model<float>> make_few_outputs_model(const SupervisedParts& parts) {
  return std::make_unique<FewOutputsModel>(parts);
}

}  // namespace gradrace
