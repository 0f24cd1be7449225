#include "models/supervised.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/layers/loss.h"
#include "models/layers/network.h"
#include "models/sampling/augmentation.h"
#include "models/sampling/batch.h"
#include "models/sampling/permutation.h"
#include "sim/check.h"
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

/// A block of rows is one product, so that a value's numbers do not depend on what else is
/// evaluated.
template <class Real>
class Supervised final : public Model<Real> {
 public:
  Supervised(const SupervisedConfig& config, LossKind loss, const MakeNetwork& network,
             std::size_t block_rows)
      : data_(config.dataset()),
        shards_(config.shards ? config.shards() : nullptr),
        loss_(make_loss<Real>(loss)),
        loss_kind_(loss),
        spec_(network(*data_, loss_->outputs(*data_))),
        network_(spec_),
        sampling_(config.sampling == "epoch" ? Sampling::epoch : Sampling::iid),
        augment_(config.augment),
        l2_(config.l2),
        block_rows_(block_rows) {
    fix_blocking();
    look_at({});
  }

  std::size_t parameters() const override { return spec_.parameters(); }
  Statistics statistics() const override { return spec_.statistics(); }

  void initialise(std::uint64_t seed, std::uint32_t replica, std::span<Real> w) override {
    Stream words = stream({seed, replica, Purpose::initial_weights, 0, 0});
    network_.initialise(words, w.data());
  }

  void gradient(std::span<const Real> w, const MinibatchName& name, std::span<Real> g) override {
    rows_.resize(name.size);
    draw_rows(name);
    minibatch_.gather(*data_, data_->train, rows_);
    if (augment_) augment(name, *data_->image, minibatch_.x);
    loss_->differentiate(minibatch_, network_.forward(w.data(), minibatch_.x, true));
    network_.backward(w.data(), minibatch_.x, g.data());
    if (l2_ == 0) return;
    for (const LayerSpec& layer : spec_.layers()) {
      const auto W = weights(layer, w.data());
      Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, 1>>(g.data() + layer.kernel.first, W.size()) +=
          static_cast<Real>(2 * l2_) * W;
    }
  }

  void look_at(const EvaluatedRows& rows) override {
    train_rows_ = first_rows(data_->train.count, rows.train, Purpose::train_rows);
    test_rows_ = first_rows(data_->test.count, rows.test, Purpose::test_rows);
  }

  void evaluate(std::span<const Real* const> values, std::span<Evaluation> results) override {
    const auto train = pass(data_->train, train_rows_, values);
    const auto test = pass(data_->test, test_rows_, values);
    for (std::size_t v = 0; v < values.size(); ++v) {
      const double penalty = regulariser(values[v]);
      results[v].loss = train[v].loss / static_cast<double>(train_rows_.size()) + penalty;
      results[v].test_loss = test[v].loss / static_cast<double>(test_rows_.size()) + penalty;
      results[v].test_error = test[v].wrong / static_cast<double>(test_rows_.size());
    }
  }

  Blueprint blueprint() const override {
    if (shards_) return NoBlueprint{"dataset.partition gives each learner rows of its own"};
    std::vector<kernels::Layer> layers;
    for (const LayerSpec& layer : spec_.layers()) layers.push_back(layer.kernel);
    return NetworkBlueprint{.parameters = static_cast<std::uint32_t>(parameters()),
                            .layers = std::move(layers),
                            .loss = loss_kind_,
                            .sampling = sampling_,
                            .l2 = l2_,
                            .augments = augment_,
                            .data = data_,
                            .train_rows = train_rows_,
                            .test_rows = test_rows_};
  }

 private:
  void draw_rows(const MinibatchName& name) {
    if (!shards_)
      return minibatch_rows(sampling_, name, static_cast<std::uint32_t>(data_->train.count), rows_);
    GRADRACE_CHECK(name.learner < shards_->learners(), "a learner without a shard");
    minibatch_rows(sampling_, name, shards_->of(name.learner), rows_);
  }

  using ConstVector = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, 1>>;

  /// None of a layer that has no W.
  static ConstVector weights(const LayerSpec& layer, const Real* w) {
    return {w + layer.kernel.first, layer.kernel.weights()};
  }

  std::vector<LossSum> pass(const Rows& split, std::span<const std::uint32_t> rows,
                            std::span<const Real* const> values) {
    std::vector<LossSum> sums(values.size());
    for (std::size_t first = 0; first < rows.size(); first += block_rows_) {
      block_.gather(*data_, split, rows.subspan(first, std::min(block_rows_, rows.size() - first)));
      for (std::size_t v = 0; v < values.size(); ++v)
        loss_->add(block_, network_.forward(values[v], block_.x, false), sums[v]);
    }
    return sums;
  }

  /// NaN where a parameter is not finite, whatever the rows say of it.
  double regulariser(const Real* w) const {
    if (!ConstVector(w, static_cast<Eigen::Index>(parameters())).allFinite())
      return std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    for (const LayerSpec& layer : spec_.layers())
      sum += weights(layer, w).template cast<double>().squaredNorm();
    return l2_ * sum;
  }

  std::shared_ptr<const Dataset> data_;
  std::shared_ptr<const Shards> shards_;  // null: there are none
  std::unique_ptr<Loss<Real>> loss_;
  LossKind loss_kind_;
  NetworkSpec spec_;
  Network<Real> network_;
  Sampling sampling_;
  bool augment_;
  double l2_;
  std::size_t block_rows_;
  std::vector<std::uint32_t> train_rows_, test_rows_;  // of an evaluation
  std::vector<std::uint32_t> rows_;
  Batch<Real> minibatch_, block_;
};

class SupervisedSpec final : public ModelSpec {
 public:
  SupervisedSpec(const SupervisedConfig& config, LossKind loss, MakeNetwork network,
                 std::size_t block_rows)
      : config_(config), loss_(loss), network_(std::move(network)), block_rows_(block_rows) {}

  std::uint32_t minibatch() const override { return config_.minibatch; }
  std::uint64_t training_rows() const override { return config_.dataset()->train.count; }
  bool has_dataset() const override { return true; }
  bool has_shards() const override { return static_cast<bool>(config_.shards); }
  bool has_test_error() const override { return loss_ != LossKind::half_square; }
  std::string data_hash() const override { return config_.dataset()->hash; }
  const std::string& precision() const override { return config_.precision; }

  std::unique_ptr<Model<float>> make_float32() const override {
    return std::make_unique<Supervised<float>>(config_, loss_, network_, block_rows_);
  }
  std::unique_ptr<Model<double>> make_float64() const override {
    return std::make_unique<Supervised<double>>(config_, loss_, network_, block_rows_);
  }

 private:
  SupervisedConfig config_;
  LossKind loss_;
  MakeNetwork network_;
  std::size_t block_rows_;
};

}  // namespace

void visit(Fields& fields, SupervisedConfig& config, std::string_view norm, DataShelf& shelf) {
  constexpr std::string_view samplings[] = {"iid", "epoch"};
  constexpr std::string_view precisions[] = {"float32", "float64"};
  DatasetProduct dataset;
  read_kind<DatasetProduct, DataShelf&>(fields, "dataset", dataset_catalog(), dataset,
                                        Need::required, "what is learnt", shelf);
  config.dataset = std::move(dataset.load);
  config.shards = std::move(dataset.shards);
  fields.integer("minibatch", config.minibatch, Need::defaulted, at_least(1),
                 "samples m of one gradient");
  fields.real("l2", config.l2, Need::defaulted, at_least(0),
              "factor of " + std::string(norm) + "; a weight decay of lambda is l2 = lambda / 2");
  fields.choice("sampling", config.sampling, samplings, Need::defaulted,
                "rows with replacement, or each once in a learner's epoch");
  if (fields.has("precision")) config.precision.clear();  // and stays so where it is refused
  fields.choice("precision", config.precision, precisions, Need::defaulted,
                "of all numbers; float64 is for checking");
  if (config.precision.empty())
    fields.complain("precision",
                    "no device multiplies shorter numbers, as tensor cores do with TF32 and bf16");
}

void visit_images(Fields& fields, SupervisedConfig& config) {
  fields.flag("augment", config.augment, Need::defaulted,
              "a gradient sees its images padded with 4 zeros, cropped anywhere, half of them "
              "mirrored");
}

ModelProduct make_supervised(const SupervisedConfig& config, LossKind loss, MakeNetwork network,
                             std::size_t block_rows) {
  return std::make_shared<SupervisedSpec>(config, loss, std::move(network), block_rows);
}

const ImageShape& images_of(const Dataset& data, std::string_view model) {
  if (!data.image)
    throw std::runtime_error(
        std::string(model) +
        " needs images, and the rows of this data set have no height and width; "
        "allowed: cifar10, digits, idx, synthetic with height and width");
  return *data.image;
}

}  // namespace gradrace
