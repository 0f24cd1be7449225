#include "models/quadratic.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace gradrace::quadratic_test {

template <class Real>
static double loss(Model<Real>& model, const std::vector<Real>& w) {
  const Real* value = w.data();
  Evaluation result;
  model.evaluate({&value, 1}, {&result, 1});
  return result.loss;
}

static std::vector<double> some_point(std::size_t d) {
  std::vector<double> w(d);
  for (std::size_t i = 0; i < d; ++i) w[i] = std::sin(1.0 + static_cast<double>(i));
  return w;
}

TEST_CASE("quadratic: the loss by hand") {
  QuadraticConfig config;
  config.dimensions = 3;
  config.curvatures = {2, 0.5};
  const auto model = make_quadratic<double>(config);
  CHECK(loss(*model, {1, 2, -3}) == (2 * 1 + 0.5 * 4 + 2 * 9) / 2);
  std::vector<double> w(3);
  model->initialise(1, 0, w);
  CHECK(w == std::vector<double>{1, 1, 1});
  const double* value = w.data();
  Evaluation result;
  model->evaluate({&value, 1}, {&result, 1});
  CHECK(std::isnan(result.test_loss));
  CHECK(std::isnan(result.test_error));
}

TEST_CASE("quadratic: gradient against central differences") {
  for (const std::uint64_t d : {1u, 2u, 7u, 100u}) {
    QuadraticConfig config;
    config.dimensions = d;
    config.curvatures = d > 2 ? std::vector<double>{2, 0.5, 0.1} : std::vector<double>{3};
    config.noise = 0;
    const auto model = make_quadratic<double>(config);
    std::vector<double> w = some_point(d), g(d);
    model->gradient(w, {1, 0, 0, 0, 1}, g);
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < d; ++i) {
      const double h = 1e-4, at = w[i];
      w[i] = at + h;
      const double above = loss(*model, w);
      w[i] = at - h;
      const double below = loss(*model, w);
      w[i] = at;
      error += std::pow((above - below) / (2 * h) - g[i], 2);
      norm += g[i] * g[i];
    }
    CHECK(std::sqrt(error / norm) <= 1e-6);
  }
}

TEST_CASE("quadratic: without noise w shrinks by exactly 1 - eta c a step") {
  QuadraticConfig config;
  config.dimensions = 2;
  config.curvatures = {1, 0.25};
  config.noise = 0;
  config.start = 3;
  const auto model = make_quadratic<double>(config);
  std::vector<double> w(2), g(2);
  model->initialise(1, 0, w);
  const double eta = 0.5;
  for (std::uint32_t j = 0; j < 40; ++j) {
    model->gradient(w, {1, 0, 0, j, 1}, g);
    for (std::size_t i = 0; i < 2; ++i) w[i] -= eta * g[i];
  }
  CHECK(w[0] == 3 * std::pow(0.5, 40));  // powers of two: exact
  CHECK(std::abs(w[1] / (3 * std::pow(0.875, 40)) - 1) <= 1e-14);
  for (std::uint32_t j = 40; j < 1000; ++j) {
    model->gradient(w, {1, 0, 0, j, 1}, g);
    for (std::size_t i = 0; i < 2; ++i) w[i] -= eta * g[i];
  }
  CHECK(loss(*model, w) <= 1e-100);
}

TEST_CASE("quadratic: the noise has mean 0 and variance noise^2 / m in all") {
  // n draws of d components; sums of n d normals, bounds 4 sd.
  const std::uint32_t n = 4000, d = 10, m = 5;
  QuadraticConfig config;
  config.dimensions = d;
  config.noise = 3;
  const auto model = make_quadratic<double>(config);
  const std::vector<double> w = some_point(d);
  std::vector<double> g(d);
  double mean = 0, square = 0, neighbours = 0;
  for (std::uint32_t draw = 0; draw < n; ++draw) {
    model->gradient(w, {1, 0, 2, draw, m}, g);
    for (std::size_t i = 0; i < d; ++i) {
      const double z = g[i] - w[i];
      mean += z / (n * d);
      square += z * z / n;
      if (i > 0) neighbours += z * (g[i - 1] - w[i - 1]);
    }
  }
  const double total = 9.0 / m, component = total / d;
  CHECK(std::abs(mean) <= 4 * std::sqrt(component / (n * d)));
  CHECK(std::abs(square / total - 1) <= 4 * std::sqrt(2.0 / (n * d)));
  CHECK(std::abs(neighbours) <= 4 * component * std::sqrt(n * (d - 1.0)));
}

TEST_CASE("quadratic: the noise belongs to seed, replica, learner and draw") {
  QuadraticConfig config;
  config.dimensions = 5;
  const auto model = make_quadratic<double>(config), other = make_quadratic<double>(config);
  const std::vector<double> w = some_point(5);
  const auto at = [&](Model<double>& which, const MinibatchName& name) {
    std::vector<double> g(5);
    which.gradient(w, name, g);
    return g;
  };
  const auto base = at(*model, {1, 0, 0, 0, 1});
  CHECK(base == at(*other, {1, 0, 0, 0, 1}));
  CHECK(base != at(*model, {2, 0, 0, 0, 1}));
  CHECK(base != at(*model, {1, 1, 0, 0, 1}));
  CHECK(base != at(*model, {1, 0, 1, 0, 1}));
  CHECK(base != at(*model, {1, 0, 0, 1, 1}));
  CHECK(base == at(*model, {1, 0, 0, 0, 1}));
}

TEST_CASE("quadratic: float32 is float64 to 1e-5 of the norm") {
  QuadraticConfig config;
  config.dimensions = 1000;
  config.curvatures = {1, 0.3, 0.01};
  const auto exact = make_quadratic<double>(config);
  const auto fast = make_quadratic<float>(config);
  const std::vector<double> w = some_point(1000);
  const std::vector<float> w32(w.begin(), w.end());
  std::vector<double> g(1000);
  std::vector<float> g32(1000);
  exact->gradient(w, {1, 0, 0, 0, 4}, g);
  fast->gradient(w32, {1, 0, 0, 0, 4}, g32);
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < 1000; ++i) error += std::pow(g32[i] - g[i], 2), norm += g[i] * g[i];
  CHECK(std::sqrt(error / norm) <= 1e-5);
  CHECK(std::abs(loss(*fast, w32) / loss(*exact, w) - 1) <= 1e-5);
}

TEST_CASE("quadratic: many values at once are the values one by one, and NaN stays NaN") {
  QuadraticConfig config;
  config.dimensions = 100;
  const auto model = make_quadratic<float>(config);
  std::vector<std::vector<float>> values(3, std::vector<float>(100, 0.1f));
  values[1][50] = 7;
  values[2][99] = std::numeric_limits<float>::quiet_NaN();
  const float* pointers[] = {values[0].data(), values[1].data(), values[2].data()};
  Evaluation together[3];
  model->evaluate(pointers, together);
  CHECK(together[0].loss == loss(*model, values[0]));
  CHECK(together[1].loss == loss(*model, values[1]));
  CHECK(std::isnan(together[2].loss));
  values[2][99] = std::numeric_limits<float>::infinity();
  CHECK(!std::isfinite(loss(*model, values[2])));
}

}  // namespace gradrace::quadratic_test
