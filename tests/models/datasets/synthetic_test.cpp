#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "models/datasets/shelf.h"
#include "models/linear.h"
#include "tests/support/reading.h"

namespace gradrace::synthetic_test {

static std::shared_ptr<const Dataset> make(const std::string& keys) {
  DataShelf shelf(".", {});
  const auto reading = read_dataset(R"({"kind": "synthetic")" + keys + "}", shelf);
  REQUIRE(reading.problems == "");
  return reading.product();
}

TEST_CASE("synthetic: shape and balanced classes") {
  const auto data = make(R"(, "rows": 30, "test_rows": 7, "features": 5, "classes": 3)");
  CHECK(data->features == 5);
  CHECK(data->classes == 3);
  CHECK(data->train.count == 30);
  CHECK(data->train.floats.size() == 150);
  CHECK(data->test.count == 7);
  CHECK(data->test.floats.size() == 35);
  for (std::size_t i = 0; i < 30; ++i) CHECK(data->train.classes[i] == i % 3);
}

TEST_CASE("synthetic: the noise has variance 1 and the means the distance asked for") {
  // 200 clusters of 50 rows in 40 dimensions.
  const std::size_t classes = 200, rows = 10000, d = 40;
  const double separation = 6;
  const auto data = make(R"(, "rows": 10000, "features": 40, "classes": 200, "separation": 6)");
  std::vector<double> means(classes * d);
  const double per_class = static_cast<double>(rows) / classes;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < d; ++j)
      means[data->train.classes[i] * d + j] += data->train.floats[i * d + j] / per_class;

  double within = 0;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < d; ++j) {
      const double r = data->train.floats[i * d + j] - means[data->train.classes[i] * d + j];
      within += r * r;
    }
  // Chi-square of (50 - 1) 200 40 = 392,000 degrees of freedom; 4 sd.
  const double freedom = (per_class - 1) * classes * d;
  CHECK(std::abs(within / freedom - 1) <= 4 * std::sqrt(2 / freedom));

  // Components of the estimated means: variance s^2 / (2 d) + 1 / 50; 8,000 of them; 4 sd.
  double between = 0;
  for (const double x : means) between += x * x / (classes * d);
  const double variance = separation * separation / (2 * d) + 1 / per_class;
  CHECK(std::abs(between / variance - 1) <= 4 * std::sqrt(2.0 / (classes * d)));
}

TEST_CASE("synthetic: a row depends on seed and number alone") {
  const auto data = make("");
  const auto fewer = make(R"(, "rows": 100)");
  for (std::size_t i = 0; i < fewer->train.floats.size(); ++i)
    REQUIRE(fewer->train.floats[i] == data->train.floats[i]);
  CHECK(fewer->test.floats == data->test.floats);
  CHECK(make("")->hash == data->hash);
  CHECK(make(R"(, "seed": 2)")->hash != data->hash);
  CHECK(data->train.floats[0] != data->test.floats[0]);
}

TEST_CASE("synthetic: with its defaults, softmax regression learns slowly to an error near 10 %") {
  DataShelf shelf(".", {});
  SoftmaxConfig config;
  config.dataset = read_dataset(R"({"kind": "synthetic"})", shelf).product;
  const auto model = make_softmax(config)->make_float32();
  std::vector<float> w(model->parameters()), g(w.size());
  std::vector<Evaluation> at;
  for (std::uint32_t draw = 0; draw <= 1000; ++draw) {
    if (draw == 0 || draw == 30 || draw == 300 || draw == 1000) {
      const float* value = w.data();
      model->evaluate({&value, 1}, {&at.emplace_back(), 1});
    }
    model->gradient(w, {1, 0, 0, draw, 32}, g);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.05f * g[i];
  }
  CHECK(std::abs(at[0].loss - std::log(10)) <= 1e-5);
  CHECK(at[1].loss >= 1);  // measured: 1.32
  CHECK(at[2].loss <= 0.5);
  CHECK(at[3].loss <= 0.9 * at[2].loss);
  CHECK(at[3].test_error >= 0.05);
  CHECK(at[3].test_error <= 0.15);
}

}  // namespace gradrace::synthetic_test
