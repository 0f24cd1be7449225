#include "models/softmax.h"

#include <Eigen/Core>
#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "models/cpu_device.h"
#include "models/minibatch.h"
#include "models/permutation.h"
#include "sim/random.h"

namespace gradrace {
namespace {

constexpr Page page{
    "softmax",
    "Multinomial logistic regression: p(c | x) = exp(s_c) / sum_k exp(s_k), s = W x + b, with W "
    "[classes, features] and b [classes].  Objective: F(W, b) = -mean ln p(class | x) + l2 "
    "||W||_F^2 (no factor 1/2; b is not regularised).  The test loss is the same on the test "
    "rows; the test error is the fraction of rows whose class has not the greatest s_c, the "
    "lowest class winning ties.",
    "Bishop, Pattern Recognition and Machine Learning, 2006, eq. 4.104 to 4.109",
    R"({"kind": "softmax", "dataset": {"kind": "synthetic"}, "minibatch": 32, "l2": 0.0001})"};

void visit(Fields& fields, SoftmaxConfig& config, DataShelf& shelf) {
  constexpr std::string_view samplings[] = {"iid", "epoch"};
  constexpr std::string_view precisions[] = {"float32", "float64"};
  read_kind<LoadDataset, DataShelf&>(fields, "dataset", dataset_catalog(), config.dataset,
                                     Need::required, "what is learnt", shelf);
  fields.integer("minibatch", config.minibatch, Need::defaulted, at_least(1),
                 "samples m of one gradient");
  fields.real("l2", config.l2, Need::defaulted, at_least(0), "factor of ||W||_F^2");
  fields.real("init_sd", config.init_sd, Need::defaulted, at_least(0),
              "W and b start as N(0, init_sd^2); 0: at zero");
  fields.choice("sampling", config.sampling, samplings, Need::defaulted,
                "rows with replacement, or each once in a learner's epoch");
  fields.choice("precision", config.precision, precisions, Need::defaulted,
                "float64 is for checking");
}

/// Eigen cuts products into blocks by the sizes of the caches.  Fixed, so that the order of
/// additions does not depend on the machine.
void fix_blocking() {
  [[maybe_unused]] static const bool fixed = [] {
    Eigen::setCpuCacheSizes(32 * 1024, 512 * 1024, 8 * 1024 * 1024);
    return true;
  }();
}

/// Some rows of a data set and what is computed of them; n rows, d features, k classes.
template <class Real>
struct Batch {
  using RowMajor = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  RowMajor x;                                              // [n, d]
  std::vector<std::uint8_t> classes;                       // [n]
  RowMajor logits;                                         // [n, k]
  Eigen::Array<Real, Eigen::Dynamic, Eigen::Dynamic> s;    // [n, k], a class beside itself
  Eigen::Array<Real, Eigen::Dynamic, 1> top, total, loss;  // [n]

  void gather(const Dataset& data, const Rows& split, std::span<const std::uint32_t> rows) {
    const std::size_t n = rows.size(), d = data.features;
    x.resize(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(d));
    classes.resize(n);
    const auto scale = static_cast<Real>(data.byte_scale);
    for (std::size_t i = 0; i < n; ++i) {
      classes[i] = split.classes[rows[i]];
      Real* to = x.data() + i * d;
      if (split.bytes.empty()) {
        const float* from = split.floats.data() + rows[i] * d;
        for (std::size_t j = 0; j < d; ++j) to[j] = static_cast<Real>(from[j]);
      } else {
        const std::uint8_t* from = split.bytes.data() + rows[i] * d;
        for (std::size_t j = 0; j < d; ++j) to[j] = static_cast<Real>(from[j]) * scale;
      }
    }
  }

  /// s = x W^T + b, top = its greatest of each row.
  template <class Weights, class Bias>
  void score(const Weights& W, const Bias& b) {
    logits.resize(x.rows(), W.rows());
    logits.noalias() = x * W.transpose();
    s = logits.array();
    s.rowwise() += b.transpose().array();
    top = s.col(0);
    for (Eigen::Index c = 1; c < s.cols(); ++c) top = top.max(s.col(c));
  }

  /// s = exp(s - top), total = its sum over each row.
  void exponentiate() {
    s.colwise() -= top;
    s = s.exp();
    total = s.col(0);
    for (Eigen::Index c = 1; c < s.cols(); ++c) total += s.col(c);
  }

  /// loss = -ln p(class | x); destroys s.
  void cross_entropy() {
    loss.resize(s.rows());
    for (Eigen::Index i = 0; i < s.rows(); ++i)
      loss[i] = top[i] - s(i, classes[static_cast<std::size_t>(i)]);
    exponentiate();
    loss += total.log();
  }

  /// s = (p - onehot) / n.
  void residuals() {
    exponentiate();
    s.colwise() /= total;
    for (Eigen::Index i = 0; i < s.rows(); ++i) s(i, classes[static_cast<std::size_t>(i)]) -= 1;
    s *= 1 / static_cast<Real>(s.rows());
  }

  /// Rows whose class has not the greatest s.
  std::uint64_t wrong() const {
    std::uint64_t count = 0;
    for (Eigen::Index i = 0; i < s.rows(); ++i) {
      Eigen::Index best = 0;
      for (Eigen::Index c = 1; c < s.cols(); ++c)
        if (s(i, c) > s(i, best)) best = c;
      count += best != classes[static_cast<std::size_t>(i)];
    }
    return count;
  }
};

template <class Real>
class Softmax final : public Model<Real> {
 public:
  Softmax(const SoftmaxConfig& config, std::optional<std::uint64_t> train_rows)
      : data_(config.dataset()),
        sampling_(config.sampling == "epoch" ? Sampling::epoch : Sampling::iid),
        l2_(config.l2),
        init_sd_(config.init_sd),
        train_rows_(data_->train.count),
        test_rows_(data_->test.count) {
    fix_blocking();
    std::iota(train_rows_.begin(), train_rows_.end(), 0u);
    std::iota(test_rows_.begin(), test_rows_.end(), 0u);
    if (train_rows && *train_rows < train_rows_.size()) {
      const Permutation order({0, 0, Purpose::train_rows, 0, 0},
                              static_cast<std::uint32_t>(data_->train.count));
      train_rows_.resize(*train_rows);
      for (std::uint32_t& row : train_rows_) row = order(row);
    }
  }

  std::size_t parameters() const override { return data_->classes * (data_->features + 1); }

  void initialise(std::uint64_t seed, std::uint32_t replica, std::span<Real> w) override {
    std::ranges::fill(w, Real{0});
    if (init_sd_ == 0) return;
    Stream words = stream({seed, replica, Purpose::initial_weights, 0, 0});
    boost::random::normal_distribution<double> normal(0, init_sd_);
    for (Real& x : w) x = static_cast<Real>(normal(words));
  }

  void gradient(std::span<const Real> w, const MinibatchName& name, std::span<Real> g) override {
    rows_.resize(name.size);
    minibatch_rows(sampling_, name, static_cast<std::uint32_t>(data_->train.count), rows_);
    minibatch_.gather(*data_, data_->train, rows_);
    minibatch_.score(weights(w.data()), bias(w.data()));
    minibatch_.residuals();

    Eigen::Map<RowMajor> dW(g.data(), classes(), features());
    dW.noalias() = minibatch_.s.matrix().transpose() * minibatch_.x;
    if (l2_ != 0) dW += static_cast<Real>(2 * l2_) * weights(w.data());
    for (Eigen::Index c = 0; c < classes(); ++c)
      dW.data()[dW.size() + c] = minibatch_.s.col(c).sum();
  }

  void evaluate(std::span<const Real* const> values, std::span<Evaluation> results) override {
    const auto train = pass(data_->train, train_rows_, values);
    const auto test = pass(data_->test, test_rows_, values);
    for (std::size_t v = 0; v < values.size(); ++v) {
      const double penalty = regulariser(values[v]);
      results[v].loss = train[v].loss / static_cast<double>(train_rows_.size()) + penalty;
      results[v].test_loss = test[v].loss / static_cast<double>(test_rows_.size()) + penalty;
      results[v].test_error =
          static_cast<double>(test[v].wrong) / static_cast<double>(test_rows_.size());
    }
  }

 private:
  using RowMajor = typename Batch<Real>::RowMajor;
  using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;

  struct Sums {
    double loss = 0;
    std::uint64_t wrong = 0;
  };

  /// Rows of one product: their features stay in the L2 cache while every value is tried on them.
  static constexpr std::size_t block_rows = 256;

  Eigen::Index classes() const { return static_cast<Eigen::Index>(data_->classes); }
  Eigen::Index features() const { return static_cast<Eigen::Index>(data_->features); }
  Eigen::Map<const RowMajor> weights(const Real* w) const { return {w, classes(), features()}; }
  Eigen::Map<const Vector> bias(const Real* w) const {
    return {w + classes() * features(), classes()};
  }

  /// Sums over the rows, one product for each block and value, so that a value's numbers do not
  /// depend on the others.
  std::vector<Sums> pass(const Rows& split, std::span<const std::uint32_t> rows,
                         std::span<const Real* const> values) {
    std::vector<Sums> sums(values.size());
    for (std::size_t first = 0; first < rows.size(); first += block_rows) {
      block_.gather(*data_, split, rows.subspan(first, std::min(block_rows, rows.size() - first)));
      for (std::size_t v = 0; v < values.size(); ++v) {
        block_.score(weights(values[v]), bias(values[v]));
        sums[v].wrong += block_.wrong();
        block_.cross_entropy();
        for (const Real loss : block_.loss) sums[v].loss += static_cast<double>(loss);
      }
    }
    return sums;
  }

  /// l2 ||W||_F^2; NaN where a parameter is not finite, whatever the rows say of it.
  double regulariser(const Real* w) const {
    const Eigen::Map<const Vector> all(w, static_cast<Eigen::Index>(parameters()));
    if (!all.allFinite()) return std::numeric_limits<double>::quiet_NaN();
    return l2_ * weights(w).template cast<double>().squaredNorm();
  }

  std::shared_ptr<const Dataset> data_;
  Sampling sampling_;
  double l2_, init_sd_;
  std::vector<std::uint32_t> train_rows_, test_rows_;  // that an evaluation looks at
  std::vector<std::uint32_t> rows_;
  Batch<Real> minibatch_, block_;
};

class SoftmaxSpec final : public ModelSpec {
 public:
  explicit SoftmaxSpec(SoftmaxConfig config) : config_(std::move(config)) {}

  std::uint32_t minibatch() const override { return config_.minibatch; }
  std::uint64_t training_rows() const override { return config_.dataset()->train.count; }
  bool has_dataset() const override { return true; }
  std::string data_hash() const override { return config_.dataset()->hash; }

  std::unique_ptr<Device> make_device(const DeviceOptions& options) const override {
    require_cpu(options.device);
    if (config_.precision == "float64")
      return make_cpu_device(make_softmax<double>(config_, options.train_rows));
    return make_cpu_device(make_softmax<float>(config_, options.train_rows));
  }

 private:
  SoftmaxConfig config_;
};

ModelProduct read(Fields& fields, DataShelf& shelf) {
  SoftmaxConfig config;
  visit(fields, config, shelf);
  if (!fields.good()) return nullptr;
  return std::make_shared<SoftmaxSpec>(std::move(config));
}

}  // namespace

template <class Real>
std::unique_ptr<Model<Real>> make_softmax(const SoftmaxConfig& config,
                                          std::optional<std::uint64_t> train_rows) {
  return std::make_unique<Softmax<Real>>(config, train_rows);
}

template std::unique_ptr<Model<float>> make_softmax(const SoftmaxConfig&,
                                                    std::optional<std::uint64_t>);
template std::unique_ptr<Model<double>> make_softmax(const SoftmaxConfig&,
                                                     std::optional<std::uint64_t>);

extern const ModelEntry softmax_entry{page, read};

}  // namespace gradrace
