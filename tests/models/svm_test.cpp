#include <doctest/doctest.h>

#include "models/linear.h"
#include "tests/support/model_checks.h"
#include "tests/support/reading.h"

namespace gradrace::svm_test {

static std::shared_ptr<Dataset> three_rows() {
  auto data = std::make_shared<Dataset>();
  data->features = 2;
  data->classes = 3;
  data->train = {3, {}, {2, 0, 1, 1, 0, 4}, {2, 0, 1}};
  data->test = {4, {}, {1, 0, 1, 0, 0, 1, 0, 0}, {2, 0, 2, 1}};
  return data;
}

TEST_CASE("svm: losses, errors and subgradients by hand, the class `positive` against all others") {
  auto config = on<SvmConfig>(three_rows());
  config.l2 = 0.25;
  config.positive = 2;
  config.sampling = "epoch";
  const auto exact = make_svm(config)->make_float64();
  const auto fast = make_svm(config)->make_float32();
  // w = (1/4, -1/2): scores 1/2, -1/4, -2 of y = 1, -1, -1: margins 1/2, 1/4, 2.
  const Evaluation at = evaluate(*exact, {0.25, -0.5});
  const double penalty = 0.25 * 0.3125;
  CHECK(at.loss == doctest::Approx((0.5 + 0.75) / 3 + penalty).epsilon(1e-15));
  // Scores 1/4, 1/4, -1/2, 0: the second and the third are wrong.
  CHECK(at.test_loss == doctest::Approx((0.75 + 1.25 + 1.5 + 1) / 4 + penalty).epsilon(1e-15));
  CHECK(at.test_error == 2.0 / 4);
  const MinibatchName all{1, 0, 0, 0, 3};
  const Vector g{(-2.0 + 1) / 3 + 0.5 * 0.25, 1.0 / 3 - 0.5 * 0.5};
  CHECK(distance(g, gradient(*exact, {0.25, -0.5}, all)) <= 1e-15);
  CHECK(distance(g, gradient(*fast, {0.25f, -0.5f}, all)) <= 1e-7);
  // At a margin of 1 a row pulls no more: of w = (1/2, 0) the first does not, and the second does.
  CHECK(distance({1.0 / 3 + 0.25, (1.0 + 4) / 3}, gradient(*exact, {0.5, 0}, all)) <= 1e-15);
}

TEST_CASE("svm: a class that there is not, no regulariser and a GPU are refused by name") {
  auto config = on<SvmConfig>(three_rows());
  config.positive = 3;
  CHECK_THROWS_WITH_AS(make_svm(config)->make_float32(),
                       "the model needs a class 3, and the data set has 3 classes, from 0",
                       std::runtime_error);
  config.positive = 2;
  const Blueprint blueprint = make_svm(config)->make_float32()->blueprint();
  REQUIRE(std::holds_alternative<NoBlueprint>(blueprint));
  CHECK(std::get<NoBlueprint>(blueprint).reason == "hinge losses were written for it alone");
  DataShelf shelf(".", ".");
  const auto read = read_model(R"({"kind": "svm", "dataset": {"kind": "synthetic"}})", shelf);
  CHECK(read.problems.find("l2") != std::string::npos);
}

}  // namespace gradrace::svm_test
