#include <doctest/doctest.h>

#include "models/datasets/shelf.h"
#include "tests/support/model_checks.h"

namespace gradrace::synthetic_regression_test {

TEST_CASE("synthetic-regression: shape, and equal keys give equal data") {
  const char* const json =
      R"({"kind": "synthetic-regression", "rows": 50, "test_rows": 20, "features": 3})";
  const auto data = made(json);
  CHECK(data->classes == 0);
  CHECK(data->train.targets.size() == 50);
  CHECK(data->test.targets.size() == 20);
  CHECK(data->train.floats.size() == 150);
  CHECK(data->hash == made(json)->hash);
  CHECK(data->hash !=
        made(R"({"kind": "synthetic-regression", "rows": 50, "test_rows": 20, "features": 3,
                 "noise": 0.2})")
            ->hash);
}

TEST_CASE("synthetic-regression: what is left of the targets is the noise") {
  // 20,000 rows; slopes by moments, E x y = v: sd below sqrt(2 (|v|^2 + noise^2) / 20000) each.
  for (const double noise : {0.0, 0.5}) {
    const auto data =
        made(R"({"kind": "synthetic-regression", "rows": 20000, "features": 5, "noise": )" +
             std::to_string(noise) + "}");
    Vector xx(25), xy(5);
    double yy = 0;
    for (std::size_t i = 0; i < 20000; ++i) {
      const float* x = data->train.floats.data() + 5 * i;
      const double y = data->train.targets[i];
      yy += y * y;
      for (std::size_t j = 0; j < 5; ++j) {
        xy[j] += x[j] * y;
        for (std::size_t k = 0; k < 5; ++k) xx[5 * j + k] += double(x[j]) * double(x[k]);
      }
    }
    const Vector v = solve(xx, xy);
    double left = yy;
    for (std::size_t j = 0; j < 5; ++j) left -= v[j] * xy[j];
    // Residual variance: relative sd sqrt(2 / 20000) = 0.01; 4 sd.
    CHECK(std::abs(left / 20000 - noise * noise) <= 0.04 * noise * noise + 1e-12);
    for (std::size_t j = 0; j < 5; ++j)
      CHECK(std::abs(xx[6 * j] / 20000 - 1) <= 4 * std::sqrt(2.0 / 20000));
  }
}

}  // namespace gradrace::synthetic_regression_test
