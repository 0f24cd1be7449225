#include "models/supervised_model.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "models/sampling/augmentation.h"
#include "models/sampling/permutation.h"
#include "sim/random.h"

namespace gradrace {

namespace {

/// Eigen cuts products into blocks by the sizes of the caches.  Fixed, so that the order of
/// additions does not depend on the machine.
void fix_blocking() {
  [[maybe_unused]] static const bool fixed = [] {
    Eigen::setCpuCacheSizes(32 * 1024, 512 * 1024, 8 * 1024 * 1024);
    return true;
  }();
}

/// The first `wanted` of `count` rows in a shuffle that is always the same; all in their order
/// where it takes no fewer.
std::vector<std::uint32_t> first_rows(std::uint64_t count, std::optional<std::uint64_t> wanted,
                                      Purpose purpose) {
  std::vector<std::uint32_t> rows(std::min(count, wanted.value_or(count)));
  std::iota(rows.begin(), rows.end(), 0u);
  if (rows.size() == count) return rows;
  const Permutation order({0, 0, purpose, 0, 0}, static_cast<std::uint32_t>(count));
  for (std::uint32_t& row : rows) row = order(row);
  return rows;
}

template <class Real>
using ConstVector = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, 1>>;

template <class Real>
ConstVector<Real> weights(const Dense& layer, const Real* w) {
  return {w + layer.first, static_cast<Eigen::Index>(layer.weights())};
}

}  // namespace

template <class Real>
Supervised<Real>::Supervised(const SupervisedConfig& config, std::unique_ptr<Loss<Real>> loss,
                             std::size_t block_rows)
    : data_(config.dataset()),
      loss_(std::move(loss)),
      sampling_(config.sampling == "epoch" ? Sampling::epoch : Sampling::iid),
      augment_(config.augment),
      l2_(config.l2),
      block_rows_(block_rows) {
  fix_blocking();
  look_at({});
}

template <class Real>
void Supervised<Real>::look_at(const EvaluatedRows& rows) {
  train_rows_ = first_rows(data_->train.count, rows.train, Purpose::train_rows);
  test_rows_ = first_rows(data_->test.count, rows.test, Purpose::test_rows);
}

template <class Real>
const ImageShape& Supervised<Real>::images(std::string_view model) const {
  if (!data_->image)
    throw std::runtime_error(
        std::string(model) +
        " needs images, and the rows of this data set have no height and width; "
        "allowed: cifar10, digits, idx, synthetic with height and width");
  return *data_->image;
}

template <class Real>
void Supervised<Real>::gradient(std::span<const Real> w, const MinibatchName& name,
                                std::span<Real> g) {
  rows_.resize(name.size);
  minibatch_rows(sampling_, name, static_cast<std::uint32_t>(data_->train.count), rows_);
  minibatch_.gather(*data_, data_->train, rows_);
  if (augment_) augment(name, *data_->image, minibatch_.x);
  learn(w.data(), minibatch_, scores_);
  loss_->differentiate(minibatch_, scores_);
  backward(w.data(), minibatch_, scores_, g.data());
  if (l2_ == 0) return;
  for (const Dense& layer : layers()) {
    const auto W = weights(layer, w.data());
    Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, 1>>(g.data() + layer.first, W.size()) +=
        static_cast<Real>(2 * l2_) * W;
  }
}

template <class Real>
void Supervised<Real>::evaluate(std::span<const Real* const> values,
                                std::span<Evaluation> results) {
  const auto train = pass(data_->train, train_rows_, values);
  const auto test = pass(data_->test, test_rows_, values);
  for (std::size_t v = 0; v < values.size(); ++v) {
    const double penalty = regulariser(values[v]);
    results[v].loss = train[v].loss / static_cast<double>(train_rows_.size()) + penalty;
    results[v].test_loss = test[v].loss / static_cast<double>(test_rows_.size()) + penalty;
    results[v].test_error = test[v].wrong / static_cast<double>(test_rows_.size());
  }
}

template <class Real>
Blueprint Supervised<Real>::blueprint() const {
  auto layers = kernel_layers();
  if (layers.empty()) return NoBlueprint{};
  return NetworkBlueprint{.parameters = static_cast<std::uint32_t>(parameters()),
                          .layers = std::move(layers),
                          .loss = loss_->kind(),
                          .sampling = sampling_,
                          .l2 = l2_,
                          .augments = augment_,
                          .data = data_,
                          .train_rows = train_rows_,
                          .test_rows = test_rows_};
}

template <class Real>
std::vector<LossSum> Supervised<Real>::pass(const Rows& split, std::span<const std::uint32_t> rows,
                                            std::span<const Real* const> values) {
  std::vector<LossSum> sums(values.size());
  for (std::size_t first = 0; first < rows.size(); first += block_rows_) {
    block_.gather(*data_, split, rows.subspan(first, std::min(block_rows_, rows.size() - first)));
    for (std::size_t v = 0; v < values.size(); ++v) {
      forward(values[v], block_, scores_);
      loss_->add(block_, scores_, sums[v]);
    }
  }
  return sums;
}

/// NaN where a parameter is not finite, whatever the rows say of it.
template <class Real>
double Supervised<Real>::regulariser(const Real* w) const {
  if (!ConstVector<Real>(w, static_cast<Eigen::Index>(parameters())).allFinite())
    return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const Dense& layer : layers())
    sum += weights(layer, w).template cast<double>().squaredNorm();
  return l2_ * sum;
}

template class Supervised<float>;
template class Supervised<double>;

}  // namespace gradrace
