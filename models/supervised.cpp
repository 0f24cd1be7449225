#include "models/supervised.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/cpu/dense_model.h"
#include "models/cpu/dense_network.h"
#include "models/layers/network.h"
#include "models/model/hinge_dual.h"
#include "models/model/supervised_model.h"
#include "models/sampling/augmentation.h"
#include "models/sampling/batch.h"
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

/// The model whose products are Eigen's.  A block of rows is one product, so that a value's numbers
/// do not depend on what else is evaluated.
template <class Real>
class NetworkModel final : public SupervisedModel<Real> {
 public:
  NetworkModel(SupervisedParts parts, std::size_t block_rows)
      : SupervisedModel<Real>(std::move(parts)),
        loss_(make_loss<Real>(this->parts_.loss, this->parts_.positive)),
        network_(this->parts_.spec),
        block_rows_(block_rows) {
    fix_blocking();
    if (this->parts_.loss == LossKind::hinge && this->parts_.shards) dual_.emplace(this->parts_);
  }

  void initialise(std::uint64_t seed, std::uint32_t replica, std::span<Real> w) override {
    Stream words = stream({seed, replica, Purpose::initial_weights, 0, 0});
    network_.initialise(words, w.data());
  }

  void gradient(std::span<const Real> w, const MinibatchName& name, std::span<Real> g) override {
    const Dataset& data = *this->parts_.data;
    minibatch_.gather(data, data.train, this->draw_rows(name));
    if (this->parts_.augment) augment(name, *data.image, minibatch_.x);
    loss_->differentiate(minibatch_, network_.forward(w.data(), minibatch_.x, true));
    network_.backward(w.data(), minibatch_.x, g.data());
    if (this->parts_.l2 == 0) return;
    for (const LayerSpec& layer : this->parts_.spec.layers()) {
      const auto W = weights(layer, w.data());
      Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, 1>>(g.data() + layer.kernel.first, W.size()) +=
          static_cast<Real>(2 * this->parts_.l2) * W;
    }
  }

  void evaluate(std::span<const Real* const> values, std::span<Evaluation> results) override {
    this->evaluate_packed(values, results);
  }

  HingeDual<Real>* dual() override { return dual_ ? &*dual_ : nullptr; }

 private:
  using ConstVector = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, 1>>;

  /// None of a layer that has no W.
  static ConstVector weights(const LayerSpec& layer, const Real* w) {
    return {w + layer.kernel.first, layer.kernel.weights()};
  }

  std::vector<LossSum> pass(bool test, std::span<const std::uint32_t> rows,
                            std::span<const Real* const> values) override {
    std::vector<LossSum> sums(values.size());
    for (std::size_t first = 0; first < rows.size(); first += block_rows_) {
      block_.gather(*this->parts_.data, this->split(test),
                    rows.subspan(first, std::min(block_rows_, rows.size() - first)));
      for (std::size_t v = 0; v < values.size(); ++v)
        loss_->add(block_, network_.forward(values[v], block_.x, false), sums[v]);
    }
    return sums;
  }

  double regulariser(const Real* w) const override {
    if (!ConstVector(w, static_cast<Eigen::Index>(this->parameters())).allFinite())
      return std::numeric_limits<double>::quiet_NaN();
    double sums[16] = {};
    for (const LayerSpec& layer : this->parts_.spec.layers()) {
      const auto W = weights(layer, w);
      for (Eigen::Index j = 0; j < W.size(); ++j) {
        const auto x = static_cast<double>(W[j]);
        sums[j % 16] += x * x;
      }
    }
    return this->parts_.l2 * std::accumulate(std::begin(sums), std::end(sums), 0.0);
  }

  std::unique_ptr<Loss<Real>> loss_;
  Network<Real> network_;
  std::size_t block_rows_;
  Batch<Real> minibatch_, block_;
  std::optional<HingeDual<Real>> dual_;
};

/// Reads the data.
SupervisedParts parts_of(const SupervisedConfig& config, LossKind loss,
                         const MakeNetwork& network) {
  const auto data = config.dataset();
  return {.data = data,
          .shards = config.shards ? config.shards() : nullptr,
          .loss = loss,
          .positive = config.positive,
          .spec = network(*data, make_loss<float>(loss, config.positive)->outputs(*data)),
          .sampling = config.sampling == "epoch" ? Sampling::epoch : Sampling::iid,
          .augment = config.augment,
          .tf32x3 = config.precision == only_gpu_precision,
          .l2 = config.l2};
}

class SupervisedSpec final : public ModelSpec {
 public:
  SupervisedSpec(const SupervisedConfig& config, LossKind loss, MakeNetwork network,
                 std::size_t block_rows)
      : config_(config), loss_(loss), network_(std::move(network)), block_rows_(block_rows) {}

  const PerLearner& minibatch() const override { return config_.minibatch; }
  std::uint64_t training_rows() const override {
    const auto data = config_.dataset();
    return static_cast<std::uint64_t>(
        std::llround(static_cast<double>(data->train.count) * data->parts));
  }
  double data_parts() const override { return config_.dataset()->parts; }
  bool has_dataset() const override { return true; }
  bool has_shards() const override { return static_cast<bool>(config_.shards); }
  bool has_test_error() const override { return loss_ != LossKind::half_square; }
  bool has_dual() const override { return loss_ == LossKind::hinge; }
  double data_bytes() const override { return config_.data_bytes; }
  std::string data_hash() const override { return config_.dataset()->hash; }
  const std::string& precision() const override { return config_.precision; }

  std::unique_ptr<Model<float>> make_float32() const override {
    const SupervisedParts parts = parts_of(config_, loss_, network_);
    if (loss_ != LossKind::hinge && is_dense(parts.spec))
      return make_dense_model(parts, has_few_outputs(parts));
    return std::make_unique<NetworkModel<float>>(parts, block_rows_);
  }
  std::unique_ptr<Model<double>> make_float64() const override {
    return std::make_unique<NetworkModel<double>>(parts_of(config_, loss_, network_), block_rows_);
  }

 private:
  SupervisedConfig config_;
  LossKind loss_;
  MakeNetwork network_;
  std::size_t block_rows_;
};

}  // namespace

void visit(Fields& fields, SupervisedConfig& config, std::string_view norm, DataShelf& shelf,
           bool needs_l2) {
  constexpr std::string_view samplings[] = {"iid", "epoch"};
  constexpr std::string_view precisions[] = {"float32", "float64", only_gpu_precision};
  DatasetProduct dataset;
  read_kind<DatasetProduct, DataShelf&>(fields, "dataset", dataset_catalog(), dataset,
                                        Need::required, "what is learnt", shelf);
  config.dataset = std::move(dataset.load);
  config.shards = std::move(dataset.shards);
  config.data_bytes = dataset.bytes;
  fields.per_learner("minibatch", config.minibatch, Need::defaulted, at_least(1),
                     "samples m of one gradient", minibatch_of_learners);
  fields.real("l2", config.l2, needs_l2 ? Need::required : Need::defaulted,
              needs_l2 ? positive() : at_least(0),
              "factor of " + std::string(norm) + "; a weight decay of lambda is l2 = lambda / 2");
  fields.choice("sampling", config.sampling, samplings, Need::defaulted,
                "rows with replacement, or each once in a learner's epoch (in a minibatch that may "
                "be cancelled)");
  if (fields.has("precision")) config.precision.clear();  // and stays so where it is refused
  fields.choice(
      "precision", config.precision, precisions, Need::defaulted,
      "of all numbers; float64 is for checking; tf32x3, by a GPU alone: float32, a product "
      "of two numbers as three of TF32 (largest relative error of a convolution with 16 to "
      "64 channels 1e-6 to 3.7e-6, in float32 2e-7 to 4e-7)");
  if (config.precision.empty())
    fields.complain("precision", "no device has shorter numbers, such as TF32 or bf16");
  if (config.precision == only_gpu_precision && config.shards)
    fields.complain("precision", "takes a GPU, and dataset.partition the CPU", "float32, float64");
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
        "allowed: cifar10, digits, idx, mnist, synthetic with height and width");
  return *data.image;
}

}  // namespace gradrace
