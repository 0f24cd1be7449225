#include "models/quadratic.h"

#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <string_view>

#include "sim/message_text.h"
#include "sim/random.h"

namespace gradrace {
namespace {

constexpr Page page{
    "quadratic",
    "F(w) = 1/2 sum_i c_i w_i^2 over w [dimensions], c_i = curvatures[i mod length].  The gradient "
    "of a minibatch of m is c_i w_i + z_i with independent z_i ~ N(0, noise^2 / (m dimensions)): "
    "its variance is noise^2 / m in all.  Strong convexity min c_i and smoothness max c_i are "
    "known exactly.",
    "Noisy quadratic model; Bottou, Curtis, Nocedal, SIAM Review 60(2), 2018, sec. 4",
    R"({"kind": "quadratic", "dimensions": 10, "curvatures": [1, 0.1], "noise": 0.5})"};

void visit(Fields& fields, QuadraticConfig& config) {
  constexpr std::string_view precisions[] = {"float32", "float64"};
  fields.integer("dimensions", config.dimensions, Need::defaulted, between(1, 1e9),
                 "length d of w");
  fields.reals("curvatures", config.curvatures, Need::defaulted, positive(),
               "c_i, repeated over the components");
  fields.real("noise", config.noise, Need::defaulted, at_least(0),
              "sigma: root of the variance of one sample's gradient, all components together");
  fields.real("start", config.start, Need::defaulted, anything(), "every component of w_0");
  fields.per_learner("minibatch", config.minibatch, Need::defaulted, at_least(1), "samples m",
                     minibatch_of_learners);
  fields.choice("precision", config.precision, precisions, Need::defaulted,
                "float64 is for checking");
}

template <class Real>
class Quadratic final : public Model<Real> {
 public:
  explicit Quadratic(const QuadraticConfig& config) : config_(config) {}

  std::size_t parameters() const override { return config_.dimensions; }

  void initialise(std::uint64_t, std::uint32_t, std::span<Real> w) override {
    std::ranges::fill(w, static_cast<Real>(config_.start));
  }

  void gradient(std::span<const Real> w, const MinibatchName& name, std::span<Real> g) override {
    for (std::size_t i = 0, k = 0; i < w.size(); ++i, k = next(k))
      g[i] = static_cast<Real>(config_.curvatures[k]) * w[i];
    if (config_.noise > 0) add_noise(name, g);
  }

  void evaluate(std::span<const Real* const> values, std::span<Evaluation> results) override {
    for (std::size_t v = 0; v < values.size(); ++v) results[v] = {.loss = loss(values[v])};
  }

  Blueprint blueprint() const override {
    return QuadraticBlueprint{config_.dimensions, config_.curvatures, config_.noise};
  }

 private:
  std::size_t next(std::size_t k) const { return k + 1 == config_.curvatures.size() ? 0 : k + 1; }

  /// In double for both precisions, so that they see the same noise.
  void add_noise(const MinibatchName& name, std::span<Real> g) const {
    Stream words =
        stream({name.seed, name.replica, Purpose::gradient_noise, name.learner, name.draw});
    const double sd =
        config_.noise / std::sqrt(static_cast<double>(name.size) * static_cast<double>(g.size()));
    boost::random::normal_distribution<double> normal(0, sd);
    for (Real& x : g) x += static_cast<Real>(normal(words));
  }

  double loss(const Real* w) const {
    double sum = 0;
    for (std::size_t i = 0, k = 0; i < config_.dimensions; ++i, k = next(k))
      sum += config_.curvatures[k] * static_cast<double>(w[i]) * static_cast<double>(w[i]);
    return sum / 2;
  }

  QuadraticConfig config_;
};

class QuadraticSpec final : public ModelSpec {
 public:
  explicit QuadraticSpec(const QuadraticConfig& config) : config_(config) {}

  const PerLearner& minibatch() const override { return config_.minibatch; }
  std::uint64_t training_rows() const override { return 0; }
  bool has_dataset() const override { return false; }
  bool has_test_error() const override { return false; }
  std::string data_hash() const override { return {}; }

  const QuadraticConfig* quadratic() const override { return &config_; }

  std::unique_ptr<Model<float>> make_float32() const override {
    return make_quadratic<float>(config_);
  }
  std::unique_ptr<Model<double>> make_float64() const override {
    return make_quadratic<double>(config_);
  }
  const std::string& precision() const override { return config_.precision; }

 private:
  QuadraticConfig config_;
};

ModelProduct read(Fields& fields, DataShelf&) {
  QuadraticConfig config;
  visit(fields, config);
  if (!fields.good()) return nullptr;
  if (config.curvatures.empty())
    fields.complain("curvatures", "must hold at least one number, got none");
  if (config.curvatures.size() > config.dimensions)
    fields.complain("curvatures", "holds " + std::to_string(config.curvatures.size()) +
                                      " numbers, more than the " +
                                      count_text(config.dimensions, "dimension"));
  if (!fields.good()) return nullptr;
  return std::make_shared<QuadraticSpec>(config);
}

}  // namespace

template <class Real>
std::unique_ptr<Model<Real>> make_quadratic(const QuadraticConfig& config) {
  return std::make_unique<Quadratic<Real>>(config);
}

template std::unique_ptr<Model<float>> make_quadratic(const QuadraticConfig&);
template std::unique_ptr<Model<double>> make_quadratic(const QuadraticConfig&);

extern const ModelEntry quadratic_entry{page, read};

}  // namespace gradrace
