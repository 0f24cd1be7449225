#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/layers/dense.h"
#include "models/layers/loss.h"
#include "models/sampling/batch.h"
#include "models/sampling/minibatch.h"
#include "models/supervised.h"

namespace gradrace {

/// A model of a data set: F(w) = mean loss of the rows + l2 sum of ||W||_F^2 over its layers (no
/// factor 1/2; biases are not regularised).  What is left to the model is how scores come from
/// rows.
///
/// A block of rows is one product, so that a value's numbers do not depend on what else is
/// evaluated.
template <class Real>
class Supervised : public Model<Real> {
 public:
  /// block_rows: rows of one product in an evaluation; what is computed of them stays in the L2
  /// cache while every value is tried.
  Supervised(const SupervisedConfig& config, std::unique_ptr<Loss<Real>> loss,
             std::size_t block_rows = 256);

  std::size_t parameters() const final { return layers().back().end() + this->statistics().count; }
  void gradient(std::span<const Real> w, const MinibatchName& name, std::span<Real> g) final;
  void look_at(const EvaluatedRows& rows) final;
  void evaluate(std::span<const Real* const> values, std::span<Evaluation> results) final;
  Blueprint blueprint() const final;

 protected:
  const Dataset& data() const { return *data_; }
  std::size_t outputs() const { return loss_->outputs(*data_); }
  /// What the rows are images of; std::runtime_error, in the model's name, where they are none.
  const ImageShape& images(std::string_view model) const;

  /// Where the weights stand, in the order of the parameters.
  virtual std::span<const Dense> layers() const = 0;

  /// The same layers, and all that stands between them; none where only the CPU has them.
  virtual std::vector<kernels::Layer> kernel_layers() const { return {}; }

  /// scores [n, outputs] of the batch at w.
  virtual void forward(const Real* w, const Batch<Real>& batch, Units<Real>& scores) = 0;

  /// The forward pass of a gradient, where that is another one.
  virtual void learn(const Real* w, const Batch<Real>& batch, Units<Real>& scores) {
    forward(w, batch, scores);
  }

  /// g [d], without the regulariser, from the derivative by the scores.  Comes after learn() of the
  /// same w and batch.
  virtual void backward(const Real* w, const Batch<Real>& batch, const Units<Real>& by_scores,
                        Real* g) = 0;

 private:
  std::vector<LossSum> pass(const Rows& split, std::span<const std::uint32_t> rows,
                            std::span<const Real* const> values);
  double regulariser(const Real* w) const;

  std::shared_ptr<const Dataset> data_;
  std::unique_ptr<Loss<Real>> loss_;
  Sampling sampling_;
  bool augment_;
  double l2_;
  std::size_t block_rows_;
  std::vector<std::uint32_t> train_rows_, test_rows_;  // that an evaluation looks at
  std::vector<std::uint32_t> rows_;
  Batch<Real> minibatch_, block_;
  Units<Real> scores_;
};

}  // namespace gradrace
