#include "models/cpu/few_outputs_model.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <future>
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

/// Makes the rows' entries meanwhile, where another thread starts.
const GroupedRows& rows_of(const Dataset& data) {
  const auto entries =
      std::async(std::launch::async | std::launch::deferred, sparse_rows, std::cref(data));
  return grouped_rows(data);
}

/// Where a weight is in W [groups, outputs, lane_count].
std::size_t weight_at(std::size_t place, std::size_t output, std::size_t outputs) {
  return (place / lane_count * outputs + output) * lane_count + place % lane_count;
}

/// W and b [columns].
Packing packing_of(std::size_t outputs, const GroupedRows& rows) {
  std::vector<std::uint32_t> place_of;
  const std::size_t b = outputs * rows.places;
  for (std::size_t o = 0; o < outputs; ++o)
    for (const std::uint32_t place : rows.place_of)
      place_of.push_back(static_cast<std::uint32_t>(weight_at(place, o, outputs)));
  for (std::size_t o = 0; o < outputs; ++o) place_of.push_back(static_cast<std::uint32_t>(b + o));
  return {std::move(place_of), b + columns_of_few(outputs)};
}

class FewOutputsModel final : public PackedModel {
 public:
  explicit FewOutputsModel(const SupervisedParts& parts)
      : PackedModel(parts, packing_of(outputs_of(parts), rows_of(*parts.data))),
        rows_(grouped_rows(*parts_.data)),
        outputs_(outputs_of(parts)),
        minibatch_(*parts_.data),
        block_(*parts_.data, kernels_) {}

  void gradient_of_packed(const float* w, const MinibatchName& name,
                          const Fold<float>& into) override {
    const float share = 1 / static_cast<float>(name.size);
    over_rows(minibatch_, name, w, into, [&](const kernels::WeightFold& g) {
      const kernels::InputGroups& x = minibatch_.x();
      scores_.resize(in_lanes(x.n * columns_of_few(outputs_)));
      kernels_.forward_few(x, w, outputs_, scores_.data());
      differentiate(x.n, share);
      kernels_.backward_few(x, scores_.data(), outputs_, g);
    });
  }

 private:
  void differentiate(std::size_t n, float share) {
    const kernels::RowLabels labels = minibatch_.labels();
    if (outputs_ == 1) return kernels_.slopes_of_one(parts_.loss, scores_.data(), n, labels, share);
    kernels_.softmax_slopes(scores_.data(), n, lane_count, outputs_, labels.classes, share);
  }

  /// Some values at once, whose scores stand side by side.
  std::vector<LossSum> pass(bool test, std::span<const std::uint32_t> rows,
                            std::span<const float* const> values) override {
    std::vector<LossSum> sums(values.size());
    for (std::size_t v = 0; v < values.size(); v += lane_count) {
      const std::size_t count = std::min(lane_count, values.size() - v);
      put_side_by_side(values.subspan(v, count));
      each_block(block_, test, rows, [&] { add_block(std::span(sums).subspan(v, count)); });
    }
    return sums;
  }

  /// W [features + 1, columns], of which [outputs, values] are used.
  void put_side_by_side(std::span<const float* const> values) {
    const std::size_t features = rows_.place_of.size(),
                      columns = in_lanes(outputs_ * values.size());
    side_by_side_.assign((features + 1) * columns, 0);
    for (std::size_t k = 0; k <= features; ++k) {
      float* to = side_by_side_.data() + k * columns;
      for (std::size_t o = 0; o < outputs_; ++o) {
        const std::size_t from =
            k < features ? weight_at(rows_.place_of[k], o, outputs_) : outputs_ * rows_.places + o;
        for (const float* w : values) *to++ = w[from];
      }
    }
  }

  void add_block(std::span<LossSum> sums) {
    const kernels::InputRows& x = block_.x();
    const std::size_t columns = in_lanes(outputs_ * sums.size());
    scores_.resize(x.n * columns + lane_count);
    losses_.resize(x.n * lane_count), wrong_.resize(x.n * lane_count);
    kernels_.forward(x, side_by_side_.data(), columns, scores_.data());
    if (sums.size() == 1 && outputs_ > 1) {
      kernels_.softmax_losses(scores_.data(), x.n, columns, outputs_, block_.labels().classes,
                              losses_.data(), wrong_.data());
      return add_losses(sums.front(), x.n);
    }
    kernels_.losses_of_values(parts_.loss, scores_.data(), x.n, outputs_, sums.size(),
                              block_.labels(), losses_.data(), wrong_.data());
    for (std::size_t v = 0; v < sums.size(); ++v) add_losses(sums[v], x.n, v, lane_count);
  }

  std::vector<std::span<const float>> weights(const float* w) const override {
    return {{w, outputs_ * rows_.places}};
  }

  const GroupedRows& rows_;
  const std::size_t outputs_;
  GroupedMinibatch minibatch_;
  DenseRows block_;
  Aligned<float> scores_, side_by_side_;
};

}  // namespace

bool has_few_outputs(const NetworkSpec& spec) {
  return is_dense(spec) && spec.layers().size() == 1 && spec.output().numbers() <= lane_count;
}

std::unique_ptr<Model<float>> make_few_outputs_model(const SupervisedParts& parts) {
  return std::make_unique<FewOutputsModel>(parts);
}

}  // namespace gradrace
