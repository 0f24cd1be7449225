#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "models/datasets/permutation.h"
#include "models/linear.h"
#include "models/sampling/minibatch.h"
#include "tests/support/model_checks.h"
#include "tests/support/reading.h"
#include "tests/support/skip.h"

namespace gradrace::softmax_test {

/// 60 rows of 13 features, 5 classes; no size is a multiple of a block.
static std::shared_ptr<const Dataset> small() {
  return synthetic(R"("rows": 60, "test_rows": 41, "features": 13, "classes": 5)");
}

namespace {

/// The definition, row by row in plain loops: F and its gradient over the rows given.
struct Reference {
  double loss = 0;
  Vector g;

  Reference(const Dataset& data, const std::vector<std::uint32_t>& rows, const Vector& w, double l2)
      : g(w.size()) {
    const std::size_t D = data.features, C = data.classes;
    const double m = static_cast<double>(rows.size());
    for (const std::uint32_t i : rows) {
      Vector p(C);
      double sum = 0;
      for (std::size_t c = 0; c < C; ++c) {
        double s = w[C * D + c];
        for (std::size_t j = 0; j < D; ++j) s += w[c * D + j] * feature(data, data.train, i, j);
        sum += p[c] = std::exp(s);
      }
      const std::size_t y = data.train.classes[i];
      loss -= std::log(p[y] / sum) / m;
      for (std::size_t c = 0; c < C; ++c) {
        const double r = (p[c] / sum - (c == y)) / m;
        g[C * D + c] += r;
        for (std::size_t j = 0; j < D; ++j) g[c * D + j] += r * feature(data, data.train, i, j);
      }
    }
    for (std::size_t k = 0; k < C * D; ++k) loss += l2 * w[k] * w[k], g[k] += 2 * l2 * w[k];
  }
};

/// The model, whose evaluations use those rows.
static std::unique_ptr<Model<double>> looking_at(const EvaluatedRows& rows,
                                                 const SoftmaxConfig& config) {
  auto model = make_softmax(config)->make_float64();
  model->look_at(rows);
  return model;
}

}  // namespace

TEST_CASE("softmax: a minibatch's gradient is the definition over its rows") {
  const auto data = small();
  for (const char* sampling : {"iid", "epoch"}) {
    for (const std::uint32_t m : {1u, 2u, 8u, 30u, 33u, 128u}) {
      SoftmaxConfig config = on<SoftmaxConfig>(data);
      config.sampling = sampling;
      config.l2 = 0.05;
      const auto model = make_softmax(config)->make_float64();
      const Vector w = some_point(model->parameters());
      const MinibatchName name{3, 2, 1, 4, m};
      std::vector<std::uint32_t> rows(m);
      minibatch_rows(config.sampling == "iid" ? Sampling::iid : Sampling::epoch, name, 60, rows);
      const Vector expected = Reference(*data, rows, w, 0.05).g;
      CHECK(distance(expected, gradient(*model, w, name)) <= 1e-13 * norm(expected));
    }
  }
}

TEST_CASE("softmax: the loss is the definition over all rows, bytes or floats") {
  auto bytes = std::make_shared<Dataset>();
  bytes->features = 3;
  bytes->classes = 2;
  bytes->byte_scale = 0.1f;
  bytes->train = {5, {1, 2, 3, 4, 5, 6, 7, 8, 9, 255, 0, 1, 9, 9, 9}, {}, {0, 1, 1, 0, 0}};
  bytes->test = {1, {1, 1, 1}, {}, {0}};
  for (const auto& data : {std::shared_ptr<const Dataset>(bytes), small()}) {
    SoftmaxConfig config = on<SoftmaxConfig>(data);
    config.l2 = 0.2;
    const auto model = make_softmax(config)->make_float64();
    const Vector w = some_point(model->parameters());
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < data->train.count; ++i) rows.push_back(i);
    const Reference expected(*data, rows, w, 0.2);
    CHECK(std::abs(evaluate(*model, w).loss / expected.loss - 1) <= 1e-13);
  }
}

TEST_CASE("softmax: iid gradients are unbiased too") {
  // 4,000 minibatches of 4; squared distance of their mean to the full gradient against its
  // expectation V / 4000, V = summed variance; its relative sd is below sqrt 2, bound 1 + 4 sqrt 2.
  const auto model = make_softmax(on<SoftmaxConfig>(small()))->make_float64();
  SoftmaxConfig walking = on<SoftmaxConfig>(small());
  walking.sampling = "epoch";
  const Vector w = some_point(model->parameters());
  const Vector full = gradient(*make_softmax(walking)->make_float64(), w, {1, 0, 0, 0, 60});
  Vector mean(w.size());
  double variance = 0;
  for (std::uint32_t draw = 0; draw < 4000; ++draw) {
    const Vector g = gradient(*model, w, {1, 0, 0, draw, 4});
    for (std::size_t i = 0; i < g.size(); ++i) mean[i] += g[i] / 4000;
    variance += std::pow(distance(full, g), 2) / 4000;
  }
  CHECK(variance > 0);
  CHECK(std::pow(distance(full, mean), 2) <= (1 + 4 * std::sqrt(2)) * variance / 4000);
}

TEST_CASE("softmax: gradient descent reaches the one minimum of a convex problem") {
  const auto data = synthetic(R"("rows": 40, "test_rows": 3, "features": 3, "classes": 3)");
  SoftmaxConfig config = on<SoftmaxConfig>(data);
  config.sampling = "epoch";
  config.l2 = 0.05;
  std::vector<Vector> minima;
  for (const double init_sd : {0.0, 1.0}) {
    config.init_sd = init_sd;
    const auto model = make_softmax(config)->make_float64();
    Vector w(model->parameters()), g;
    model->initialise(1, 0, w);
    // The common part of b is free; it stays what it was at the start.
    const double b = (w[9] + w[10] + w[11]) / 3;
    for (int c = 9; c < 12; ++c) w[static_cast<std::size_t>(c)] -= b;
    for (int step = 0; step < 10000; ++step) {
      g = gradient(*model, w, {1, 0, 0, 0, 40});
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.2 * g[i];
    }
    CHECK(norm(g) <= 1e-10);
    minima.push_back(w);
  }
  CHECK(distance(minima[0], minima[1]) <= 1e-8);
}

TEST_CASE("softmax: test error by hand, ties to the lowest class") {
  auto data = std::make_shared<Dataset>();
  data->features = 1;
  data->classes = 3;
  data->train = {1, {}, {1}, {0}};
  // W = (0, 1, -1), b = 0: x > 0 says class 1, x < 0 class 2, x = 0 is a tie that class 0 wins.
  data->test = {5, {}, {2, 2, -1, 0, 0}, {1, 0, 2, 0, 1}};
  const auto model = make_softmax(on<SoftmaxConfig>(data))->make_float64();
  const Evaluation at = evaluate(*model, {0, 1, -1, 0, 0, 0});
  CHECK(at.test_error == 2.0 / 5);
  const double at_2 = std::log(1 + std::exp(2.0) + std::exp(-2.0)),
               at_1 = std::log(1 + std::exp(1.0) + std::exp(-1.0));
  const double by_hand = ((at_2 - 2) + at_2 + (at_1 - 1) + 2 * std::log(3.0)) / 5;
  CHECK(std::abs(at.test_loss / by_hand - 1) <= 1e-14);
  CHECK(std::abs(at.loss / at_1 - 1) <= 1e-14);
  CHECK(evaluate(*model, Vector(6)).test_error == 3.0 / 5);
}

TEST_CASE("softmax: great scores neither overflow nor lose the loss") {
  auto data = std::make_shared<Dataset>();
  data->features = 1;
  data->classes = 2;
  data->train = {1, {}, {1}, {1}};
  data->test = {1, {}, {1}, {1}};
  const auto model = make_softmax(on<SoftmaxConfig>(data))->make_float32();
  CHECK(evaluate(*model, {1000, 0, 0, 0}).loss == 1000);
  CHECK(evaluate(*model, {0, 1000, 0, 0}).loss == 0);
  CHECK(evaluate(*model, {0, 0, 1e30f, 1e30f}).loss == doctest::Approx(std::log(2.0)));
}

TEST_CASE("softmax: the start is zero, or normal and named by seed and replica") {
  SoftmaxConfig config = on<SoftmaxConfig>(synthetic(R"("rows": 10, "features": 999)"));
  Vector w(10000, 7.0);
  make_softmax(config)->make_float64()->initialise(1, 0, w);
  CHECK(w == Vector(10000));
  config.init_sd = 0.5;
  const auto model = make_softmax(config)->make_float64();
  REQUIRE(model->parameters() == 10000);
  model->initialise(1, 0, w);
  // 10,000 normals of sd 1/2; bounds 4 sd.
  double mean = 0, square = 0;
  for (const double x : w) mean += x / 1e4, square += x * x / 1e4;
  CHECK(std::abs(mean) <= 4 * 0.5 / 100);
  CHECK(std::abs(square / 0.25 - 1) <= 4 * std::sqrt(2.0) / 100);
  CHECK(std::ranges::all_of(w.end() - 10, w.end(), [](double b) { return b != 0; }));
  check_start_is_named(*model, w);
}

TEST_CASE("softmax: train_rows and test_rows are the first rows of fixed shuffles") {
  const auto data = small();
  SoftmaxConfig config = on<SoftmaxConfig>(data);
  config.l2 = 0.1;
  const Vector w = some_point(5 * 14);
  const Permutation shuffle({0, 0, Purpose::train_rows, 0, 0}, 60);
  for (const std::uint32_t n : {1u, 17u, 59u}) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < n; ++i) rows.push_back(shuffle(i));
    const double expected = Reference(*data, rows, w, 0.1).loss;
    CHECK(std::abs(evaluate(*looking_at({.train = n}, config), w).loss / expected - 1) <= 1e-13);
  }
  Dataset tested = *data;
  tested.train = tested.test;
  const Permutation test_shuffle({0, 0, Purpose::test_rows, 0, 0}, 41);
  for (const std::uint32_t n : {1u, 17u, 40u}) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < n; ++i) rows.push_back(test_shuffle(i));
    const double expected = Reference(tested, rows, w, 0.1).loss;
    const Evaluation at = evaluate(*looking_at({.test = n}, config), w);
    CHECK(std::abs(at.test_loss / expected - 1) <= 1e-13);
    CHECK(std::abs(std::round(n * at.test_error) - n * at.test_error) <= 1e-9);
  }
  const Evaluation all = evaluate(*make_softmax(config)->make_float64(), w);
  CHECK(evaluate(*looking_at({.test = 41}, config), w).test_loss == all.test_loss);
  CHECK(evaluate(*looking_at({.test = 17}, config), w).loss == all.loss);
  CHECK(evaluate(*looking_at({.train = 60}, config), w).loss == all.loss);
  CHECK(evaluate(*looking_at({.train = 1000}, config), w).loss == all.loss);
  CHECK(evaluate(*looking_at({.train = 17}, config), w).test_loss == all.test_loss);
}

TEST_CASE("softmax: plain SGD on optdigits gives the known accuracy and loss") {
  GRADRACE_NEEDS_DATA("digits");
  // Plain numpy, reshuffled each epoch, 30 epochs of 29 updates of 128, eta 0.1, zero start:
  // training loss 0.2945, test loss 0.3504, test accuracy 91.82 %.  One test row is 0.06 %.
  DataShelf shelf(".", data_folder("digits").parent_path());
  SoftmaxConfig config;
  config.dataset = read_dataset(R"({"kind": "digits", "path": "digits"})", shelf).product;
  config.sampling = "epoch";
  const auto model = make_softmax(config)->make_float32();
  double loss = 0, test_loss = 0, accuracy = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::vector<float> w(model->parameters()), g(w.size());
    model->initialise(seed, 0, w);
    for (std::uint32_t draw = 0; draw < 30 * 29; ++draw) {
      model->gradient(w, {seed, 0, 0, draw, 128}, g);
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.1f * g[i];
    }
    const Evaluation at = evaluate(*model, w);
    loss += at.loss / 3;
    test_loss += at.test_loss / 3;
    accuracy += (1 - at.test_error) / 3;
  }
  CAPTURE(loss);
  CAPTURE(test_loss);
  CAPTURE(accuracy);
  CHECK(std::abs(accuracy - 0.9182) <= 0.01);
  CHECK(std::abs(loss - 0.2945) <= 0.005);
  CHECK(std::abs(test_loss - 0.3504) <= 0.005);
}

}  // namespace gradrace::softmax_test
