#include "models/mlp.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/linear.h"
#include "models/sampling/minibatch.h"
#include "tests/support/model_checks.h"
#include "tests/support/reading.h"
#include "tests/support/skip.h"

namespace gradrace::mlp_test {

static std::shared_ptr<const Dataset> small() {
  return synthetic(R"("rows": 60, "test_rows": 41, "features": 13, "classes": 5)");
}

static MlpConfig net(std::shared_ptr<const Dataset> data, std::vector<std::uint64_t> widths,
                     const std::string& activation) {
  auto config = on<MlpConfig>(std::move(data));
  config.widths = std::move(widths);
  config.activation = activation;
  return config;
}

TEST_CASE("mlp: without hidden layers it is softmax, bit for bit") {
  const auto data = synthetic(R"("rows": 600, "test_rows": 300)");
  auto plain = on<SoftmaxConfig>(data);
  auto config = net(data, {}, "relu");
  plain.l2 = config.l2 = 0.01;
  const auto softmax = make_softmax(plain)->make_float32();
  const auto mlp = make_mlp(config)->make_float32();
  REQUIRE(mlp->parameters() == softmax->parameters());
  const Vector point = some_point(softmax->parameters());
  const std::vector<float> w(point.begin(), point.end());
  for (const std::uint32_t m : {1u, 7u, 32u})
    CHECK(gradient(*mlp, w, {1, 0, 0, 3, m}) == gradient(*softmax, w, {1, 0, 0, 3, m}));
  const Evaluation a = evaluate(*softmax, w), b = evaluate(*mlp, w);
  CHECK(a.loss == b.loss);
  CHECK(a.test_loss == b.test_loss);
  CHECK(a.test_error == b.test_error);
}

/// The definition, row by row in plain loops: the loss of one row and its gradient, added to g.
static double add_row(const Vector& w, const std::vector<std::size_t>& sizes, bool relu, Vector x,
                      std::size_t c, Vector& g) {
  std::vector<Vector> y{std::move(x)};
  std::size_t at = 0;
  for (std::size_t l = 1; l < sizes.size(); ++l) {
    Vector z(sizes[l]);
    for (std::size_t o = 0; o < sizes[l]; ++o) {
      z[o] = w[at + sizes[l] * sizes[l - 1] + o];
      for (std::size_t i = 0; i < sizes[l - 1]; ++i)
        z[o] += w[at + o * sizes[l - 1] + i] * y[l - 1][i];
      if (l + 1 < sizes.size()) z[o] = relu ? std::max(z[o], 0.0) : std::tanh(z[o]);
    }
    y.push_back(z);
    at += sizes[l] * (sizes[l - 1] + 1);
  }
  Vector d = y.back();
  double sum = 0;
  for (double& s : d) sum += s = std::exp(s);
  const double loss = -std::log(d[c] / sum);
  for (double& p : d) p /= sum;
  d[c] -= 1;
  for (std::size_t l = sizes.size() - 1; l > 0; --l) {
    at -= sizes[l] * (sizes[l - 1] + 1);
    Vector before(sizes[l - 1]);
    for (std::size_t o = 0; o < sizes[l]; ++o) {
      g[at + sizes[l] * sizes[l - 1] + o] += d[o];
      for (std::size_t i = 0; i < sizes[l - 1]; ++i) {
        g[at + o * sizes[l - 1] + i] += d[o] * y[l - 1][i];
        before[i] += d[o] * w[at + o * sizes[l - 1] + i];
      }
    }
    for (std::size_t i = 0; i < sizes[l - 1]; ++i)
      before[i] *= relu ? (y[l - 1][i] > 0) : 1 - y[l - 1][i] * y[l - 1][i];
    d = before;
  }
  return loss;
}

TEST_CASE("mlp: a minibatch's gradient and the loss are the definition, row by row") {
  const auto data = small();
  for (const bool relu : {true, false}) {
    for (const std::vector<std::uint64_t>& widths :
         {std::vector<std::uint64_t>{1}, {7}, {9, 4}, {3, 11, 6}}) {
      const auto model = make_mlp(net(data, widths, relu ? "relu" : "tanh"))->make_float64();
      std::vector<std::size_t> sizes(widths.begin(), widths.end());
      sizes.insert(sizes.begin(), 13);
      sizes.push_back(5);
      const Vector w = some_point(model->parameters(), 0.8);
      const auto row = [&](std::uint32_t i) {
        Vector x(13);
        for (std::size_t j = 0; j < 13; ++j) x[j] = feature(*data, data->train, i, j);
        return x;
      };
      for (const std::uint32_t m : {1u, 5u, 33u}) {
        std::vector<std::uint32_t> rows(m);
        minibatch_rows(Sampling::iid, {3, 2, 1, 4, m}, 60, rows);
        Vector expected(w.size());
        for (const std::uint32_t i : rows)
          add_row(w, sizes, relu, row(i), data->train.classes[i], expected);
        for (double& x : expected) x /= m;
        CHECK(distance(expected, gradient(*model, w, {3, 2, 1, 4, m})) <= 1e-13 * norm(expected));
      }
      double loss = 0;
      Vector unused(w.size());
      for (std::uint32_t i = 0; i < 60; ++i)
        loss += add_row(w, sizes, relu, row(i), data->train.classes[i], unused) / 60;
      CHECK(std::abs(evaluate(*model, w).loss / loss - 1) <= 1e-13);
    }
  }
}

TEST_CASE("mlp: weights start with the variance of He or Glorot, layer after layer, biases at 0") {
  const auto data = synthetic(R"("rows": 10, "features": 100)");
  for (const bool relu : {true, false}) {
    const auto model = make_mlp(net(data, {80, 60}, relu ? "relu" : "tanh"))->make_float64();
    Vector w(model->parameters(), 7.0);
    model->initialise(1, 0, w);
    std::size_t at = 0;
    const std::size_t sizes[] = {100, 80, 60, 10};
    for (int l = 0; l < 3; ++l) {
      const std::size_t in = sizes[l], out = sizes[l + 1];
      double square = 0;
      for (std::size_t i = 0; i < in * out; ++i) square += w[at + i] * w[at + i];
      const double n = static_cast<double>(in * out);
      const double variance = 2.0 / static_cast<double>(relu ? in : in + out);
      CHECK(std::abs(square / n / variance - 1) <= 4 * std::sqrt(2 / n));
      at += in * out;
      for (std::size_t o = 0; o < out; ++o) CHECK(w[at++] == 0);
    }
    CHECK(at == w.size());
    check_start_is_named(*model, w);
  }
}

TEST_CASE("mlp: relu does not hide a hidden unit that is NaN") {
  auto data = std::make_shared<Dataset>();
  data->features = 2;
  data->classes = 2;
  data->train = data->test = {1, {}, {2, 2}, {1}};
  const auto model = make_mlp(net(data, {1}, "relu"))->make_float32();
  // All finite, but z = inf - inf.
  CHECK(!std::isfinite(evaluate(*model, {3e38f, -3e38f, 0, 1, 0, 0, 0}).loss));
  CHECK(evaluate(*model, {-3e38f, -3e38f, 0, 1, 0, 0, 0}).loss == doctest::Approx(std::log(2.0)));
}

TEST_CASE("mlp: it learns what softmax cannot, exclusive or") {
  auto data = std::make_shared<Dataset>();
  data->features = 2;
  data->classes = 2;
  data->train = {4, {}, {0, 0, 0, 1, 1, 0, 1, 1}, {0, 1, 1, 0}};
  data->test = data->train;
  for (const char* activation : {"relu", "tanh"}) {
    auto config = net(data, {8}, activation);
    config.sampling = "epoch";
    const auto model = make_mlp(config)->make_float64();
    Vector w(model->parameters());
    model->initialise(1, 0, w);
    for (int step = 0; step < 3000; ++step) {
      const Vector g = gradient(*model, w, {1, 0, 0, 0, 4});
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.5 * g[i];
    }
    CHECK(evaluate(*model, w).test_error == 0);
    CHECK(evaluate(*model, w).loss < 0.01);
  }
}

}  // namespace gradrace::mlp_test
