#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "models/layers/loss.h"
#include "models/layers/network_spec.h"
#include "models/model/model.h"

namespace gradrace {

/// What a supervised model is made of, once its data are read.
struct SupervisedParts {
  std::shared_ptr<const Dataset> data;
  std::shared_ptr<const Shards> shards;  // null: there are none
  LossKind loss;
  std::uint32_t positive;  // class of a hinge loss
  NetworkSpec spec;
  Sampling sampling;
  bool augment;
  bool tf32x3;  // a blueprint's
  double l2;
};

/// What all supervised models have in common, whatever computes their products.
template <class Real>
class SupervisedModel : public Model<Real> {
 public:
  explicit SupervisedModel(SupervisedParts parts) : parts_(std::move(parts)) { look_at({}); }

  std::size_t parameters() const override { return parts_.spec.parameters(); }
  Statistics statistics() const override { return parts_.spec.statistics(); }
  std::vector<Tensor> tensors() const override { return parts_.spec.tensors(); }
  void look_at(const EvaluatedRows& rows) override;
  void evaluate_packed(std::span<const Real* const> values, std::span<Evaluation> results) override;
  Blueprint blueprint() const override;

 protected:
  /// Of the learner's minibatch; they stay until the next call.
  std::span<const std::uint32_t> draw_rows(const MinibatchName& name);

  /// Sums over those rows of a split, of each value.
  virtual std::vector<LossSum> pass(bool test, std::span<const std::uint32_t> rows,
                                    std::span<const Real* const> values) = 0;
  /// l2 sum ||W||^2, NaN where a parameter is not finite.
  virtual double regulariser(const Real* w) const = 0;

  const Rows& split(bool test) const { return test ? parts_.data->test : parts_.data->train; }

  const SupervisedParts parts_;

 private:
  std::vector<std::uint32_t> train_rows_, test_rows_;  // of an evaluation
  std::optional<MinibatchName> last_drawn_;
  std::vector<std::uint32_t> drawn_;  // its rows
};

}  // namespace gradrace
