#include <doctest/doctest.h>

#include <span>
#include <string>

#include "tests/support/race_text.h"
#include "tests/support/skip.h"

namespace gradrace::known_minimum_test {

/// 12 images that a network can tell apart: the greatest lower bound of its loss is 0.
static std::string images(int side, double separation) {
  return R"({"kind": "synthetic", "rows": 12, "test_rows": 5, "classes": 3, "separation": )" +
         std::to_string(separation) + R"(, "features": )" + std::to_string(3 * side * side) +
         R"(, "height": )" + std::to_string(side) + R"(, "width": )" + std::to_string(side) + "}";
}

/// Loss after so many updates by gradients of all rows.
static double loss_after(const std::string& model, double eta, int updates) {
  const Point point = point_from(
      R"({"cluster": {"learners": 1, "runtime": {"distribution": "exponential", "mean": 1}},
          "protocol": {"kind": "sync"}, "optimiser": {"momentum": 0.9},
          "model": {)" +
      model + R"(, "minibatch": 12, "sampling": "epoch", "precision": "float64"},
          "learning_rate": {"kind": "constant", "eta": )" +
      std::to_string(eta) + R"(}, "stop": {"updates": )" + std::to_string(updates) +
      R"(}, "record": {"every_updates": )" + std::to_string(updates) + "}}");
  return run_training(point).curve.back().evaluation.loss;
}

TEST_CASE("networks: descent comes within 1e-3 of a known minimum") {
  const struct {
    std::string model;
    double eta;
    int updates;
  } cases[] = {
      {R"("kind": "mlp", "widths": [20, 10], "dataset": )" + images(4, 4.5), 0.05, 400},
      {R"("kind": "cnn", "dense": [20], "dataset": )" + images(16, 4.5), 0.02, 400},
      {R"("kind": "resnet", "depth": 8, "width": 4, "dataset": )" + images(8, 4.5), 0.05, 400},
      {R"("kind": "cnn", "net": "cifar10-full", "dataset": )" + images(12, 4.5), 0.05, 400},
  };
  for (const auto& [model, eta, updates] : std::span(cases).first(is_long_form() ? 4 : 2)) {
    CAPTURE(model);
    const double before = loss_after(model, eta, 1), after = loss_after(model, eta, updates);
    CHECK(before > 0.5);
    CHECK(after >= 0);
    CHECK(after < 1e-3);
  }
}

}  // namespace gradrace::known_minimum_test
