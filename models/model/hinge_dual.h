#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/model/supervised_model.h"
#include "models/sampling/batch.h"
#include "sim/tape.h"

namespace gradrace {

/// The dual of the objective of a support vector machine, of a variable alpha_i in [0, 1] for each
/// of the n training rows: with lambda = 2 l2 and w(alpha) = 1 / (lambda n) sum_i alpha_i y_i x_i
///
///     F(w) >= D(alpha) = 1/n sum_i alpha_i - lambda/2 ||w(alpha)||^2.
///
/// A learner has the variables of its shard; those of rows that no shard has stay 0.
/// Source: Shalev-Shwartz, Zhang, JMLR 14, 2013; passes: Jaggi et al., NIPS 2014 (CoCoA), and Ma et
/// al., ICML 2015 (CoCoA+).
template <class Real>
class HingeDual {
 public:
  /// The parts, which have shards, must outlive it.
  explicit HingeDual(const SupervisedParts& parts) : parts_(parts) {}
  virtual ~HingeDual() = default;

  /// Of a learner.
  std::size_t variables() const { return parts_.shards->size; }

  /// A learner's pass at w [d] over the rows of its minibatch, one after the other: with sigma and
  /// step of the pass, a_i from `before` [variables] (null: 0) and v from 0,
  ///
  ///     a_i' = clip(a_i - (y_i x_i . (w + sigma v) - 1) lambda n / (sigma ||x_i||^2), 0, 1),
  ///     v    = v + (a_i' - a_i) y_i x_i / (lambda n).
  ///
  /// after = before + step (a - before); g = -v.  By how much their sum has grown.
  virtual double ascend(const DualPass& pass, const MinibatchName& name, const Real* w,
                        const Real* before, Real* after, Real* g);

  /// F(w) - D(alpha), where w is w(alpha), F(w) the loss and `sum` that of all alpha.
  virtual double gap(const Real* w, double loss, double sum) const;

 private:
  const SupervisedParts& parts_;
  std::vector<std::uint32_t> places_, rows_;  // of a pass: in the shard, in the data
  Batch<Real> block_;
};

}  // namespace gradrace
