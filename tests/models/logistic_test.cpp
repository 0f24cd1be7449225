#include <doctest/doctest.h>

#include "models/linear.h"
#include "tests/support/model_checks.h"
#include "tests/support/reading.h"
#include "tests/support/skip.h"

namespace gradrace::logistic_test {

static std::shared_ptr<const Dataset> two_classes() {
  return synthetic(R"("rows": 40, "test_rows": 3, "features": 3, "classes": 2, "separation": 1.5)");
}

/// One feature, one training row, as said.
static std::shared_ptr<Dataset> one_row(float x, std::uint8_t c) {
  auto data = std::make_shared<Dataset>();
  data->features = 1;
  data->classes = 2;
  data->train = {1, {}, {x}, {c}};
  data->test = {1, {}, {x}, {c}};
  return data;
}

/// The minimum by Newton's method, from the definition alone; returns the loss there.
static double newton(const Dataset& data, double l2, Vector& w) {
  const std::size_t n = data.train.count, d = data.features + 1;
  w.assign(d, 0);
  double loss = 0;
  for (int step = 0; step < 30; ++step) {
    Vector g(d), H(d * d);
    loss = 0;
    for (std::size_t i = 0; i < n; ++i) {
      Vector x(d, 1);
      double s = w[d - 1];
      for (std::size_t j = 0; j + 1 < d; ++j) s += w[j] * (x[j] = feature(data, data.train, i, j));
      const double p = 1 / (1 + std::exp(-s)), y = data.train.classes[i];
      loss -= std::log(y == 1 ? p : 1 - p) / static_cast<double>(n);
      for (std::size_t j = 0; j < d; ++j) {
        g[j] += (p - y) * x[j] / static_cast<double>(n);
        for (std::size_t k = 0; k < d; ++k)
          H[j * d + k] += p * (1 - p) * x[j] * x[k] / static_cast<double>(n);
      }
    }
    for (std::size_t j = 0; j + 1 < d; ++j) {
      loss += l2 * w[j] * w[j];
      g[j] += 2 * l2 * w[j];
      H[j * d + j] += 2 * l2;
    }
    const Vector move = solve(H, g);
    for (std::size_t j = 0; j < d; ++j) w[j] -= move[j];
  }
  return loss;
}

template <class Config, class Make>
static double descend(const std::shared_ptr<const Dataset>& data, double l2, Make make, Vector& w) {
  auto config = on<Config>(data);
  config.sampling = "epoch";
  config.l2 = l2;
  const auto model = make(config)->make_float64();
  w.assign(model->parameters(), 0);
  Vector g;
  for (int step = 0; step < 5000; ++step) {
    g = gradient(*model, w, {1, 0, 0, 0, 40});
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.5 * g[i];
  }
  CHECK(norm(g) <= 1e-13);
  return evaluate(*model, w).loss;
}

TEST_CASE("logistic: gradient descent reaches the minimum that Newton's method finds") {
  const auto data = two_classes();
  for (const double l2 : {0.01, 0.3}) {
    Vector expected, w;
    const double least = newton(*data, l2, expected);
    const double loss = descend<LogisticConfig>(data, l2, make_logistic, w);
    CHECK(std::abs(loss / least - 1) <= 1e-13);
    CHECK(distance(expected, w) <= 1e-11);
  }
}

TEST_CASE("logistic: softmax of two classes is logistic with half the regulariser") {
  // p(1 | x) depends on W_1 - W_0 = w alone, and ||W||^2 is least, ||w||^2 / 2, at W_1 = -W_0.
  const auto data = two_classes();
  for (const double l2 : {0.02, 0.4}) {
    Vector expected, W;
    const double least = newton(*data, l2 / 2, expected);
    const double loss = descend<SoftmaxConfig>(data, l2, make_softmax, W);
    CHECK(std::abs(loss / least - 1) <= 1e-13);
    const Vector w{W[3] - W[0], W[4] - W[1], W[5] - W[2], W[7] - W[6]};
    CHECK(distance(expected, w) <= 1e-11);
  }
}

TEST_CASE("logistic: the minimum on a9a is the known one") {
  GRADRACE_NEEDS_DATA("libsvm");
  // Newton's method in numpy with l2 = 0.01, gradient 1e-16: training loss 0.391143653415494, test
  // loss 0.387576277655533, 2,623 of 16,281 test rows wrong.
  DataShelf shelf(".", data_folder("libsvm"));
  LogisticConfig config;
  config.dataset = read_dataset(R"({"kind": "libsvm", "path": "a9a", "test_path": "a9a.t",
                                    "features": 123})",
                                shelf)
                       .product;
  config.sampling = "epoch";
  config.l2 = 0.01;
  const auto model = make_logistic(config)->make_float64();
  // Nesterov's method for smoothness 1.84 and strong convexity 0.0034 at the minimum.
  const double eta = 1 / 1.84,
               momentum = (1 - std::sqrt(0.0034 * eta)) / (1 + std::sqrt(0.0034 * eta));
  Vector w(124), ahead(124);
  for (int step = 0; step < 400; ++step) {
    const Vector g = gradient(*model, ahead, {1, 0, 0, 0, 32561});
    for (std::size_t i = 0; i < 124; ++i) {
      const double moved = ahead[i] - eta * g[i];
      ahead[i] = moved + momentum * (moved - w[i]);
      w[i] = moved;
    }
  }
  CHECK(norm(gradient(*model, w, {1, 0, 0, 0, 32561})) <= 1e-7);
  const Evaluation at = evaluate(*model, w);
  CHECK(std::abs(at.loss - 0.391143653415494) <= 1e-12);
  CHECK(std::abs(at.test_loss - 0.387576277655533) <= 1e-8);
  CHECK(at.test_error == 2623.0 / 16281);
}

TEST_CASE("logistic: losses and errors by hand, a score of 0 says class 0") {
  auto data = one_row(2, 1);
  // w = 1, b = -1: scores 1, 1, 0, 0, -2.
  data->test = {5, {}, {2, 2, 1, 1, -1}, {1, 0, 1, 0, 0}};
  const auto model = make_logistic(on<LogisticConfig>(data))->make_float64();
  const Evaluation at = evaluate(*model, {1, -1});
  CHECK(at.loss == doctest::Approx(std::log(1 + std::exp(-1.0))).epsilon(1e-15));
  const double sum = std::log(1 + std::exp(-1.0)) + std::log(1 + std::exp(1.0)) +
                     2 * std::log(2.0) + std::log(1 + std::exp(-2.0));
  CHECK(at.test_loss == doctest::Approx(sum / 5).epsilon(1e-15));
  CHECK(at.test_error == 2.0 / 5);
}

TEST_CASE("logistic: great scores neither overflow nor lose the loss") {
  for (const std::uint8_t c : {std::uint8_t{0}, std::uint8_t{1}}) {
    const auto model = make_logistic(on<LogisticConfig>(one_row(1, c)))->make_float32();
    const float right = c == 1 ? 1000 : -1000;
    CHECK(evaluate(*model, {right, 0}).loss == 0);
    CHECK(evaluate(*model, {-right, 0}).loss == 1000);
    CHECK(gradient(*model, {right, 0}, {1, 0, 0, 0, 1}) == std::vector<float>{0, 0});
    CHECK(gradient(*model, {-right, 0}, {1, 0, 0, 0, 1}) ==
          (c == 1 ? std::vector<float>{-1, -1} : std::vector<float>{1, 1}));
    CHECK(evaluate(*model, {c == 1 ? 20.0f : -20.0f, 0}).loss ==
          doctest::Approx(std::exp(-20.0)).epsilon(1e-6));
  }
}

TEST_CASE("logistic: other data than of two classes are refused") {
  const auto three = synthetic(R"("rows": 9, "classes": 3)");
  CHECK_THROWS_WITH_AS(make_logistic(on<LogisticConfig>(three))->make_float32(),
                       "the model needs two classes, and the data set has 3 classes",
                       std::runtime_error);
  const auto targets = made(R"({"kind": "synthetic-regression", "rows": 9})");
  CHECK_THROWS_WITH_AS(make_logistic(on<LogisticConfig>(targets))->make_float32(),
                       "the model needs two classes, and the data set has targets",
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(make_softmax(on<SoftmaxConfig>(targets))->make_float32(),
                       "the model needs classes, and the data set has targets", std::runtime_error);
}

}  // namespace gradrace::logistic_test
