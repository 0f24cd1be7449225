#include <doctest/doctest.h>

#include "models/linear.h"
#include "tests/support/model_checks.h"

namespace gradrace::least_squares_test {

static std::shared_ptr<const Dataset> regression() {
  return made(R"({"kind": "synthetic-regression", "rows": 50, "test_rows": 7, "features": 4})");
}

/// F(w) = w . A w / 2 - y . w + rest, row by row.
struct NormalEquations {
  Vector A, y;
  double rest = 0;

  NormalEquations(const Dataset& data, double l2)
      : A((data.features + 1) * (data.features + 1)), y(data.features + 1) {
    const std::size_t d = y.size();
    const auto n = static_cast<double>(data.train.count);
    for (std::size_t i = 0; i < data.train.count; ++i) {
      Vector x(d, 1);
      for (std::size_t j = 0; j + 1 < d; ++j) x[j] = feature(data, data.train, i, j);
      const double target = data.train.targets[i];
      rest += target * target / 2 / n;
      for (std::size_t j = 0; j < d; ++j) {
        y[j] += x[j] * target / n;
        for (std::size_t k = 0; k < d; ++k) A[j * d + k] += x[j] * x[k] / n;
      }
    }
    for (std::size_t j = 0; j + 1 < d; ++j) A[j * d + j] += 2 * l2;
  }

  Vector times_A(const Vector& w) const {
    const std::size_t d = w.size();
    Vector result(d);
    for (std::size_t j = 0; j < d; ++j)
      for (std::size_t k = 0; k < d; ++k) result[j] += A[j * d + k] * w[k];
    return result;
  }

  double loss(const Vector& w) const {
    const Vector Aw = times_A(w);
    double sum = rest;
    for (std::size_t j = 0; j < w.size(); ++j) sum += w[j] * (Aw[j] / 2 - y[j]);
    return sum;
  }

  /// The greatest eigenvalue, by powers.
  double smoothness() const {
    Vector v = some_point(y.size());
    double length = 0;
    for (int i = 0; i < 2000; ++i) {
      v = times_A(v);
      length = norm(v);
      for (double& x : v) x /= length;
    }
    return length;
  }
};

static LeastSquaresConfig whole(const std::shared_ptr<const Dataset>& data, double l2) {
  auto config = on<LeastSquaresConfig>(data);
  config.sampling = "epoch";
  config.l2 = l2;
  return config;
}

TEST_CASE("least-squares: loss and gradient are those of the normal equations") {
  const auto data = regression();
  for (const double l2 : {0.0, 0.2}) {
    const NormalEquations normal(*data, l2);
    const auto model = make_least_squares(whole(data, l2))->make_float64();
    const Vector w = some_point(5);
    CHECK(std::abs(evaluate(*model, w).loss / normal.loss(w) - 1) <= 1e-13);
    Vector g = normal.times_A(w);
    for (std::size_t j = 0; j < 5; ++j) g[j] -= normal.y[j];
    CHECK(distance(g, gradient(*model, w, {1, 0, 0, 0, 50})) <= 1e-13 * norm(g));
  }
}

TEST_CASE("least-squares: gradient descent with 1 / L reaches the known minimum") {
  const auto data = regression();
  for (const double l2 : {0.0, 0.2}) {
    const NormalEquations normal(*data, l2);
    const Vector expected = solve(normal.A, normal.y);
    const auto model = make_least_squares(whole(data, l2))->make_float64();
    const double eta = 1 / normal.smoothness();
    Vector w(5, 3.0);
    for (int step = 0; step < 2000; ++step) {
      const Vector g = gradient(*model, w, {1, 0, 0, 0, 50});
      for (std::size_t i = 0; i < 5; ++i) w[i] -= eta * g[i];
    }
    CHECK(distance(expected, w) <= 1e-13 * norm(expected));
    CHECK(std::abs(evaluate(*model, w).loss / normal.loss(expected) - 1) <= 1e-12);
  }
}

TEST_CASE("least-squares: the step 2 / L is the edge of stability") {
  const auto data = regression();
  const double L = NormalEquations(*data, 0.1).smoothness();
  const auto model = make_least_squares(whole(data, 0.1))->make_float64();
  for (const bool stable : {true, false}) {
    const double eta = (stable ? 1.99 : 2.01) / L;
    Vector w(5, 3.0);
    const double before = norm(gradient(*model, w, {1, 0, 0, 0, 50}));
    for (int step = 0; step < 2000; ++step) {
      const Vector g = gradient(*model, w, {1, 0, 0, 0, 50});
      for (std::size_t i = 0; i < 5; ++i) w[i] -= eta * g[i];
    }
    const double after = norm(gradient(*model, w, {1, 0, 0, 0, 50}));
    CHECK((stable ? after < 1e-6 * before : after > 1e6 * before));
  }
}

TEST_CASE("least-squares: there is no test error, and classes are no targets") {
  const auto model = make_least_squares(whole(regression(), 0))->make_float64();
  const Evaluation at = evaluate(*model, some_point(5));
  CHECK(std::isfinite(at.test_loss));
  CHECK(std::isnan(at.test_error));
  const auto classes = synthetic(R"("rows": 9)");
  CHECK_THROWS_WITH_AS(make_least_squares(on<LeastSquaresConfig>(classes))->make_float32(),
                       "the model needs targets, and the data set has classes", std::runtime_error);
}

}  // namespace gradrace::least_squares_test
