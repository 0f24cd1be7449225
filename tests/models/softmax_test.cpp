#include "models/softmax.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "models/minibatch.h"
#include "models/permutation.h"
#include "tests/models/reading.h"
#include "tests/skip.h"

namespace gradrace {

using Vector = std::vector<double>;

static SoftmaxConfig on(std::shared_ptr<const Dataset> data) {
  SoftmaxConfig config;
  config.dataset = [data] { return data; };
  return config;
}

static std::shared_ptr<const Dataset> synthetic(const std::string& keys) {
  DataShelf shelf(".", {});
  return read_dataset(R"({"kind": "synthetic", )" + keys + "}", shelf).product();
}

/// 60 rows of 13 features, 5 classes; no size is a multiple of a block.
static std::shared_ptr<const Dataset> small() {
  return synthetic(R"("rows": 60, "test_rows": 41, "features": 13, "classes": 5)");
}

static Vector some_point(std::size_t d) {
  Vector w(d);
  for (std::size_t i = 0; i < d; ++i) w[i] = 0.3 * std::sin(1.0 + static_cast<double>(i));
  return w;
}

static double norm(const Vector& v) {
  double square = 0;
  for (const double x : v) square += x * x;
  return std::sqrt(square);
}

template <class Real>
static double distance(const Vector& a, const std::vector<Real>& b) {
  Vector difference(a);
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] -= static_cast<double>(b[i]);
  return norm(difference);
}

template <class Real>
static Evaluation evaluate(Model<Real>& model, const std::vector<Real>& w) {
  const Real* value = w.data();
  Evaluation result;
  model.evaluate({&value, 1}, {&result, 1});
  return result;
}

template <class Real>
static std::vector<Real> gradient(Model<Real>& model, const std::vector<Real>& w,
                                  const MinibatchName& name) {
  std::vector<Real> g(w.size(), std::numeric_limits<Real>::quiet_NaN());
  model.gradient(w, name, g);
  return g;
}

static double feature(const Dataset& data, const Rows& rows, std::size_t i, std::size_t j) {
  const std::size_t at = i * data.features + j;
  return rows.bytes.empty() ? static_cast<double>(rows.floats[at])
                            : rows.bytes[at] * static_cast<double>(data.byte_scale);
}

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

TEST_CASE("softmax: gradient against central differences, for data sets of many sizes") {
  for (const std::uint32_t n : {1u, 2u, 5u, 30u, 32u, 100u}) {
    for (const double l2 : {0.0, 0.1}) {
      SoftmaxConfig config = on(synthetic("\"rows\": " + std::to_string(n) +
                                          R"(, "test_rows": 3, "features": 7, "classes": 4)"));
      config.sampling = "epoch";  // a minibatch of n: every row once
      config.l2 = l2;
      config.init_sd = 0.3;
      const auto model = make_softmax<double>(config, {});
      Vector w(model->parameters());
      model->initialise(1, 0, w);
      const Vector g = gradient(*model, w, {1, 0, 0, 0, n});
      Vector numeric(w.size());
      for (std::size_t i = 0; i < w.size(); ++i) {
        const double h = 1e-5, at = w[i];
        w[i] = at + h;
        const double above = evaluate(*model, w).loss;
        w[i] = at - h;
        numeric[i] = (above - evaluate(*model, w).loss) / (2 * h);
        w[i] = at;
      }
      CAPTURE(n);
      CHECK(distance(numeric, g) <= 1e-6 * norm(g));
    }
  }
}

TEST_CASE("softmax: a minibatch's gradient is the definition over its rows") {
  const auto data = small();
  for (const char* sampling : {"iid", "epoch"}) {
    for (const std::uint32_t m : {1u, 2u, 8u, 30u, 33u, 128u}) {
      SoftmaxConfig config = on(data);
      config.sampling = sampling;
      config.l2 = 0.05;
      const auto model = make_softmax<double>(config, {});
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
    SoftmaxConfig config = on(data);
    config.l2 = 0.2;
    const auto model = make_softmax<double>(config, {});
    const Vector w = some_point(model->parameters());
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < data->train.count; ++i) rows.push_back(i);
    const Reference expected(*data, rows, w, 0.2);
    CHECK(std::abs(evaluate(*model, w).loss / expected.loss - 1) <= 1e-13);
  }
}

TEST_CASE("softmax: float32 is float64 to 1e-5 of the norm") {
  const auto data = synthetic(R"("rows": 700, "test_rows": 300, "features": 101)");
  for (const std::uint32_t m : {1u, 30u, 128u}) {
    SoftmaxConfig config = on(data);
    config.l2 = 0.01;
    const auto exact = make_softmax<double>(config, {});
    const auto fast = make_softmax<float>(config, {});
    const Vector w = some_point(exact->parameters());
    const std::vector<float> w32(w.begin(), w.end());
    const Vector rounded(w32.begin(), w32.end());
    const Vector g = gradient(*exact, rounded, {1, 0, 0, 0, m});
    CHECK(distance(g, gradient(*fast, w32, {1, 0, 0, 0, m})) <= 1e-5 * norm(g));
    const Evaluation a = evaluate(*exact, rounded), b = evaluate(*fast, w32);
    CHECK(std::abs(b.loss / a.loss - 1) <= 1e-5);
    CHECK(std::abs(b.test_loss / a.test_loss - 1) <= 1e-5);
  }
}

TEST_CASE("softmax: gradients are unbiased: their mean over an epoch is the full gradient") {
  const auto data = small();
  for (const std::uint32_t m : {1u, 4u, 15u, 30u}) {
    SoftmaxConfig config = on(data);
    config.sampling = "epoch";
    config.l2 = 0.1;
    const auto model = make_softmax<double>(config, {});
    const Vector w = some_point(model->parameters());
    Vector mean(w.size());
    for (std::uint32_t draw = 0; draw < 60 / m; ++draw) {
      const Vector g = gradient(*model, w, {1, 0, 0, draw, m});
      for (std::size_t i = 0; i < g.size(); ++i) mean[i] += g[i] * m / 60;
    }
    const Vector full = gradient(*model, w, {1, 0, 0, 0, 60});
    CHECK(distance(full, mean) <= 1e-12 * norm(full));
  }
}

TEST_CASE("softmax: iid gradients are unbiased too") {
  // 4,000 minibatches of 4; squared distance of their mean to the full gradient against its
  // expectation V / 4000, V = summed variance; its relative sd is below sqrt 2, bound 1 + 4 sqrt 2.
  const auto model = make_softmax<double>(on(small()), {});
  SoftmaxConfig walking = on(small());
  walking.sampling = "epoch";
  const Vector w = some_point(model->parameters());
  const Vector full = gradient(*make_softmax<double>(walking, {}), w, {1, 0, 0, 0, 60});
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
  SoftmaxConfig config = on(data);
  config.sampling = "epoch";
  config.l2 = 0.05;
  std::vector<Vector> minima;
  for (const double init_sd : {0.0, 1.0}) {
    config.init_sd = init_sd;
    const auto model = make_softmax<double>(config, {});
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

TEST_CASE("softmax: many values at once are the values one by one, bit for bit") {
  // 1,000 and 300 rows: whole blocks and a rest.
  const auto model = make_softmax<float>(on(synthetic(R"("rows": 1000, "test_rows": 300)")), {});
  std::vector<std::vector<float>> values;
  std::vector<const float*> pointers;
  for (int v = 0; v < 5; ++v) {
    auto& w = values.emplace_back(model->parameters());
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = static_cast<float>(0.2 * std::sin(1.0 + v + static_cast<double>(i)));
  }
  for (const auto& w : values) pointers.push_back(w.data());
  std::vector<Evaluation> together(5);
  model->evaluate(pointers, together);
  for (std::size_t v = 0; v < 5; ++v) {
    const Evaluation alone = evaluate(*model, values[v]);
    CHECK(together[v].loss == alone.loss);
    CHECK(together[v].test_loss == alone.test_loss);
    CHECK(together[v].test_error == alone.test_error);
  }
  CHECK(together[0].loss != together[1].loss);
}

TEST_CASE("softmax: a gradient has the same bits after any other call and anywhere in memory") {
  const auto data = synthetic(R"("rows": 100, "features": 37)");
  const auto model = make_softmax<float>(on(data), {});
  const auto fresh = make_softmax<float>(on(data), {});
  const std::size_t d = model->parameters();
  const Vector point = some_point(d);
  const std::vector<float> w(point.begin(), point.end());
  for (const std::uint32_t m : {1u, 3u, 30u}) {
    const auto expected = gradient(*fresh, w, {1, 0, 0, 5, m});
    for (std::size_t shift = 0; shift < 8; ++shift) {
      gradient(*model, w, {1, 0, 0, static_cast<std::uint32_t>(shift), 64});
      evaluate(*model, w);
      std::vector<float> w_there(d + shift), g_there(d + 8);
      std::ranges::copy(w, w_there.begin() + static_cast<std::ptrdiff_t>(shift));
      const std::span<float> g(g_there.data() + 7 - shift, d);
      model->gradient(std::span<const float>(w_there).subspan(shift), {1, 0, 0, 5, m}, g);
      CHECK(std::ranges::equal(g, expected));
    }
  }
}

TEST_CASE("softmax: test error by hand, ties to the lowest class") {
  auto data = std::make_shared<Dataset>();
  data->features = 1;
  data->classes = 3;
  data->train = {1, {}, {1}, {0}};
  // W = (0, 1, -1), b = 0: x > 0 says class 1, x < 0 class 2, x = 0 is a tie that class 0 wins.
  data->test = {5, {}, {2, 2, -1, 0, 0}, {1, 0, 2, 0, 1}};
  const auto model = make_softmax<double>(on(data), {});
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
  const auto model = make_softmax<float>(on(data), {});
  CHECK(evaluate(*model, {1000, 0, 0, 0}).loss == 1000);
  CHECK(evaluate(*model, {0, 1000, 0, 0}).loss == 0);
  CHECK(evaluate(*model, {0, 0, 1e30f, 1e30f}).loss == doctest::Approx(std::log(2.0)));
}

TEST_CASE("softmax: values that are not finite give losses that are not finite") {
  const auto model = make_softmax<float>(on(small()), {});
  const std::size_t d = model->parameters();
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t where : {std::size_t{0}, d / 2, d - 1}) {
      std::vector<float> w(d);
      w[where] = bad;
      const Evaluation at = evaluate(*model, w);
      CHECK(!std::isfinite(at.loss));
      CHECK(!std::isfinite(at.test_loss));
      CHECK(gradient(*model, w, {1, 0, 0, 0, 32}).size() == d);
    }
  }
  // Finite, but the scores overflow.
  std::vector<float> w(d, 3e38f);
  CHECK(!std::isfinite(evaluate(*model, w).loss));
}

TEST_CASE("softmax: the start is zero, or normal and named by seed and replica") {
  SoftmaxConfig config = on(synthetic(R"("rows": 10, "features": 999)"));
  Vector w(10000, 7.0);
  make_softmax<double>(config, {})->initialise(1, 0, w);
  CHECK(w == Vector(10000));
  config.init_sd = 0.5;
  const auto model = make_softmax<double>(config, {});
  REQUIRE(model->parameters() == 10000);
  model->initialise(1, 0, w);
  // 10,000 normals of sd 1/2; bounds 4 sd.
  double mean = 0, square = 0;
  for (const double x : w) mean += x / 1e4, square += x * x / 1e4;
  CHECK(std::abs(mean) <= 4 * 0.5 / 100);
  CHECK(std::abs(square / 0.25 - 1) <= 4 * std::sqrt(2.0) / 100);
  CHECK(std::ranges::all_of(w.end() - 10, w.end(), [](double b) { return b != 0; }));
  Vector again(10000), seed(10000), replica(10000);
  model->initialise(1, 0, again);
  model->initialise(2, 0, seed);
  model->initialise(1, 1, replica);
  CHECK(again == w);
  CHECK(seed != w);
  CHECK(replica != w);
}

TEST_CASE("softmax: train_rows is the loss on the first rows of one fixed shuffle") {
  const auto data = small();
  SoftmaxConfig config = on(data);
  config.l2 = 0.1;
  const Vector w = some_point(5 * 14);
  const Permutation shuffle({0, 0, Purpose::train_rows, 0, 0}, 60);
  for (const std::uint32_t n : {1u, 17u, 59u}) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < n; ++i) rows.push_back(shuffle(i));
    const double expected = Reference(*data, rows, w, 0.1).loss;
    CHECK(std::abs(evaluate(*make_softmax<double>(config, n), w).loss / expected - 1) <= 1e-13);
  }
  const Evaluation all = evaluate(*make_softmax<double>(config, {}), w);
  CHECK(evaluate(*make_softmax<double>(config, 60), w).loss == all.loss);
  CHECK(evaluate(*make_softmax<double>(config, 1000), w).loss == all.loss);
  CHECK(evaluate(*make_softmax<double>(config, 17), w).test_loss == all.test_loss);
}

TEST_CASE("softmax: plain SGD on optdigits gives the known accuracy and loss") {
  GRADRACE_NEEDS_DATA("digits");
  // Plain numpy, reshuffled each epoch, 30 epochs of 29 updates of 128, eta 0.1, zero start:
  // training loss 0.2945, test loss 0.3504, test accuracy 91.82 %.  One test row is 0.06 %.
  DataShelf shelf(".", data_folder("digits").parent_path());
  SoftmaxConfig config;
  config.dataset = read_dataset(R"({"kind": "digits", "path": "digits"})", shelf).product;
  config.sampling = "epoch";
  const auto model = make_softmax<float>(config, {});
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

}  // namespace gradrace
