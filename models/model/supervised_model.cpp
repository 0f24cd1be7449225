#include "models/model/supervised_model.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "models/datasets/permutation.h"
#include "sim/check.h"
#include "sim/random.h"

namespace gradrace {

/// The first `wanted` of `count` rows in a shuffle that is always the same; all in their order
/// where it takes no fewer.
static std::vector<std::uint32_t> first_rows(std::uint64_t count,
                                             std::optional<std::uint64_t> wanted, Purpose purpose) {
  std::vector<std::uint32_t> rows(std::min(count, wanted.value_or(count)));
  std::iota(rows.begin(), rows.end(), 0u);
  if (rows.size() == count) return rows;
  const Permutation order({0, 0, purpose, 0, 0}, static_cast<std::uint32_t>(count));
  for (std::uint32_t& row : rows) row = order(row);
  return rows;
}

template <class Real>
void SupervisedModel<Real>::look_at(const EvaluatedRows& rows) {
  train_rows_ = first_rows(parts_.data->train.count, rows.train, Purpose::train_rows);
  test_rows_ = first_rows(parts_.data->test.count, rows.test, Purpose::test_rows);
}

template <class Real>
void SupervisedModel<Real>::evaluate_packed(std::span<const Real* const> values,
                                            std::span<Evaluation> results) {
  const auto train = pass(false, train_rows_, values);
  const auto test = pass(true, test_rows_, values);
  for (std::size_t v = 0; v < values.size(); ++v) {
    const double penalty = regulariser(values[v]);
    results[v].loss = train[v].loss / static_cast<double>(train_rows_.size()) + penalty;
    results[v].test_loss = test[v].loss / static_cast<double>(test_rows_.size()) + penalty;
    results[v].test_error = test[v].wrong / static_cast<double>(test_rows_.size());
  }
}

template <class Real>
Blueprint SupervisedModel<Real>::blueprint() const {
  if (parts_.shards) return NoBlueprint{"dataset.partition gives each learner rows of its own"};
  if (parts_.loss == LossKind::hinge) return NoBlueprint{"hinge losses were written for it alone"};
  std::vector<kernels::Layer> layers;
  for (const LayerSpec& layer : parts_.spec.layers()) layers.push_back(layer.kernel);
  return NetworkBlueprint{.parameters = static_cast<std::uint32_t>(parameters()),
                          .layers = std::move(layers),
                          .loss = parts_.loss,
                          .sampling = parts_.sampling,
                          .l2 = parts_.l2,
                          .augments = parts_.augment,
                          .tf32x3 = parts_.tf32x3,
                          .data = parts_.data,
                          .train_rows = train_rows_,
                          .test_rows = test_rows_};
}

template <class Real>
std::span<const std::uint32_t> SupervisedModel<Real>::draw_rows(const MinibatchName& name) {
  if (last_drawn_ == name) return drawn_;
  const bool has_shard = !parts_.shards || name.learner < parts_.shards->learners();
  GRADRACE_CHECK(has_shard, "a learner without a shard");
  drawn_.resize(name.size);
  last_drawn_ = name;
  if (parts_.shards) {
    minibatch_rows(parts_.sampling, name, parts_.shards->of(name.learner), drawn_);
  } else {
    minibatch_rows(parts_.sampling, name, static_cast<std::uint32_t>(parts_.data->train.count),
                   drawn_);
  }
  return drawn_;
}

template class SupervisedModel<float>;
template class SupervisedModel<double>;

}  // namespace gradrace
