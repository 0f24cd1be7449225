#include "tests/support/subjects.h"

#include <cmath>

#include "models/cnn.h"
#include "models/linear.h"
#include "models/mlp.h"
#include "models/quadratic.h"
#include "models/resnet.h"

namespace gradrace {

namespace {

/// The model, except for where its runs start.
template <class Real>
class StartedAt final : public Model<Real> {
 public:
  StartedAt(std::unique_ptr<Model<Real>> model, Vector start)
      : model_(std::move(model)), start_(std::move(start)) {}

  std::size_t parameters() const override { return model_->parameters(); }
  Statistics statistics() const override { return model_->statistics(); }
  void initialise(std::uint64_t, std::uint32_t replica, std::span<Real> w) override {
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = static_cast<Real>(start_[i] * (1 + 0.1 * replica));
  }
  void gradient(std::span<const Real> w, const MinibatchName& name, std::span<Real> g) override {
    model_->gradient(w, name, g);
  }
  void evaluate(std::span<const Real* const> values, std::span<Evaluation> results) override {
    model_->evaluate(values, results);
  }
  Blueprint blueprint() const override { return model_->blueprint(); }

 private:
  std::unique_ptr<Model<Real>> model_;
  Vector start_;
};

template <class Config>
Subject subject(std::string name, std::shared_ptr<const Dataset> data, Config config,
                ModelProduct (*make)(const Config&), const std::string& sampling = "iid",
                double l2 = 0.01) {
  config.dataset = [data] { return data; };
  config.sampling = sampling;
  config.l2 = l2;
  const ModelProduct product = make(config);
  const auto of_some_rows = [](auto model) {
    model->look_at({.train = 31, .test = 23});
    return model;
  };
  return {std::move(name), [=] { return of_some_rows(product->make_float32()); },
          [=] { return of_some_rows(product->make_float64()); }};
}

/// The data set as bytes, with every seventh row all zero.
std::shared_ptr<const Dataset> as_bytes(const Dataset& from) {
  auto data = std::make_shared<Dataset>(from);
  data->byte_scale = 1.0f / 255;
  for (Rows* rows : {&data->train, &data->test}) {
    for (std::size_t i = 0; i < rows->floats.size(); ++i) {
      const bool zero = i / data->features % 7 == 0;
      rows->bytes.push_back(zero ? 0 : static_cast<std::uint8_t>(128 + 50 * std::sin(i)));
    }
    rows->floats.clear();
  }
  return data;
}

MlpConfig mlp(std::vector<std::uint64_t> widths, const std::string& activation) {
  MlpConfig config;
  config.widths = std::move(widths);
  config.activation = activation;
  return config;
}

CnnConfig cnn(std::vector<std::uint64_t> channels, std::uint32_t kernel,
              std::vector<std::uint64_t> dense, const std::string& activation) {
  CnnConfig config;
  config.channels = std::move(channels);
  config.kernel = kernel;
  config.dense = std::move(dense);
  config.activation = activation;
  return config;
}

CnnConfig augmented(CnnConfig config) {
  config.augment = true;
  return config;
}

CnnConfig cifar10_full() {
  CnnConfig config;
  config.net = "cifar10-full";
  return config;
}

ResnetConfig resnet(std::uint32_t width, bool augment) {
  ResnetConfig config;
  config.depth = 8;
  config.width = width;
  config.statistics_decay = 0.6;
  config.augment = augment;
  return config;
}

ResnetConfig grouped(ResnetConfig config, std::uint64_t groups) {
  config.normalisation = "group";
  config.groups = groups;
  return config;
}

}  // namespace

std::unique_ptr<Device> Subject::on(const Place& place, const Vector& start) const {
  if (place.float64) return place.make_float64(std::make_unique<StartedAt<double>>(exact(), start));
  return place.make_float32(std::make_unique<StartedAt<float>>(fast(), start));
}

Subject quadratic(std::uint64_t dimensions, double noise) {
  QuadraticConfig config;
  config.dimensions = dimensions;
  config.curvatures = {1, 0.3, 2};
  config.noise = noise;
  return {"quadratic", [=] { return make_quadratic<float>(config); },
          [=] { return make_quadratic<double>(config); }};
}

std::vector<Subject> subjects() {
  const auto classes = synthetic(R"("rows": 75, "test_rows": 41, "features": 13, "classes": 5)");
  const auto wide = synthetic(R"("rows": 75, "test_rows": 67, "features": 333, "classes": 10)");
  const auto two = synthetic(R"("rows": 75, "test_rows": 41, "features": 13, "classes": 2)");
  const auto targets =
      made(R"({"kind": "synthetic-regression", "rows": 75, "test_rows": 41, "features": 13})");
  const auto images = synthetic(
      R"("rows": 75, "test_rows": 41, "features": 198, "height": 9, "width": 11, "classes": 5)");
  const auto odd = synthetic(
      R"("rows": 19, "test_rows": 7, "features": 63, "height": 9, "width": 7, "classes": 5)");
  const auto few = synthetic(
      R"("rows": 9, "test_rows": 3, "features": 99, "height": 11, "width": 9, "classes": 5)");
  const auto square = synthetic(
      R"("rows": 40, "test_rows": 9, "features": 192, "height": 8, "width": 8, "classes": 3)");
  const auto relu = mlp({7}, "relu"), tanh = mlp({70, 6}, "tanh");
  const auto small = cnn({3}, 4, {}, "relu"), deep = cnn({3, 4}, 2, {6}, "tanh");
  return {
      quadratic(10, 0.5),
      subject("least-squares", targets, LeastSquaresConfig{}, make_least_squares),
      subject("logistic", two, LogisticConfig{}, make_logistic, "epoch"),
      subject("softmax", classes, SoftmaxConfig{}, make_softmax),
      subject("softmax, bytes", as_bytes(*wide), SoftmaxConfig{}, make_softmax, "epoch", 0),
      subject("softmax, no regulariser", classes, SoftmaxConfig{}, make_softmax, "iid", 0),
      subject("logistic, no regulariser", two, LogisticConfig{}, make_logistic, "iid", 0),
      subject("least-squares, no regulariser", targets, LeastSquaresConfig{}, make_least_squares,
              "epoch", 0),
      subject("mlp, relu, no regulariser", classes, mlp({60, 3}, "relu"), make_mlp, "iid", 0),
      subject("mlp, tanh, bytes, no regulariser", as_bytes(*wide), mlp({9, 12, 5}, "tanh"),
              make_mlp, "epoch", 0),
      subject("mlp, relu", classes, relu, make_mlp),
      subject("mlp, tanh, bytes", as_bytes(*wide), tanh, make_mlp, "epoch"),
      subject("mlp, too large for a block", as_bytes(*wide), mlp({190}, "relu"), make_mlp, "iid",
              0),
      subject("cnn, relu", images, small, make_cnn, "epoch"),
      subject("cnn, tanh, bytes", as_bytes(*images), deep, make_cnn),
      subject("cnn, relu, augmented", images, augmented(small), make_cnn, "epoch"),
      subject("cnn, tanh, bytes, augmented", as_bytes(*images), augmented(deep), make_cnn),
      subject("cnn, cifar10-full, odd", few, cifar10_full(), make_cnn),
      subject("resnet, odd, bytes, augmented", as_bytes(*odd), resnet(3, true), make_resnet),
      subject("resnet", square, resnet(4, false), make_resnet, "epoch"),
      subject("resnet, groups, odd, bytes", as_bytes(*odd), grouped(resnet(3, true), 3),
              make_resnet),
      subject("resnet, groups", square, grouped(resnet(4, false), 2), make_resnet, "epoch"),
  };
}

std::vector<Subject> by_three_products() {
  auto dense = cnn({3}, 3, {70, 9}, "tanh"), maps = cnn({12, 20}, 5, {}, "tanh");
  dense.precision = maps.precision = only_gpu_precision;
  return {
      subject("cnn of dense layers, three products",
              synthetic(R"("rows": 75, "test_rows": 41, "features": 99, "height": 9, "width": 11,
                           "classes": 5)"),
              dense, make_cnn),
      subject("cnn of maps, three products",
              synthetic(R"("rows": 75, "test_rows": 41, "features": 323, "height": 17,
                           "width": 19, "classes": 5)"),
              maps, make_cnn),
  };
}

Subject full_size() {
  const auto images = synthetic(
      R"("rows": 9, "test_rows": 2, "features": 3072, "height": 32, "width": 32, "classes": 10)");
  return subject("cnn, cifar10-full", as_bytes(*images), cifar10_full(), make_cnn);
}

}  // namespace gradrace
