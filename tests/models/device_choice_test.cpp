#include "models/device_choice.h"

#include <doctest/doctest.h>

#include "tests/support/reading.h"

namespace gradrace::device_choice_test {

/// Of a model of 28 x 28 bytes with ten classes, as MNIST's are.
Blueprint blueprint_of(const std::string& model) {
  DataShelf shelf(".", {});
  const auto reading = read_model(
      R"({"dataset": {"kind": "synthetic", "rows": 20, "features": 784, "height": 28, "width": 28, "classes": 10}, )" +
          model + "}",
      shelf);
  REQUIRE_MESSAGE(reading.product, reading.problems);
  return reading.product->make_float32()->blueprint();
}

const std::string softmax = R"("kind": "softmax")",
                  perceptron = R"("kind": "mlp", "widths": [128])", lenet = R"("kind": "cnn")",
                  resnet = R"("kind": "resnet", "depth": 20)";

DeviceChoice choice(const std::string& model, std::size_t runs, std::uint32_t minibatch = 32,
                    std::uint32_t learners = 8, const char* precision = "float32") {
  const Blueprint blueprint = blueprint_of(model);
  return choose_device({blueprint, precision, learners, minibatch, runs});
}

/// Runs from which on the GPU is chosen.
std::size_t least(const std::string& model, std::uint32_t minibatch = 32) {
  const Blueprint blueprint = blueprint_of(model);
  std::size_t runs = 1;
  while (!choose_device({blueprint, "float32", 8, minibatch, runs}).is_gpu) REQUIRE(++runs < 9999);
  return runs;
}

TEST_CASE("device choice: a GPU from as many runs on as make it twice as fast as 16 cores") {
  // 2 x 16 x (gradients/s of a core) x (runs measured) / (gradients/s of the GPU)
  CHECK(least(softmax) == 82);     // 32 x 226e3 x 264 / 23.3e6 = 81.9
  CHECK(least(perceptron) == 65);  // 32 x 24.8e3 x 264 / 3.23e6 = 64.9
  CHECK(least(lenet) == 46);       // 32 x 3.03e3 x 128 / 0.273e6 = 45.5
  CHECK(least(resnet, 128) == 1);
}

TEST_CASE("device choice: smaller minibatches need more runs, larger ones fewer of convolutions") {
  CHECK(least(perceptron, 8) == 260);  // 4 x 64.9
  CHECK(least(perceptron, 128) == 65);
  CHECK(least(lenet, 8) == 182);  // 4 x 45.5
  CHECK(least(lenet, 128) == 12);
}

TEST_CASE("device choice: learners' values have to fit into the memory") {
  CHECK(choice(perceptron, 1000, 32, 1000).is_gpu);
  const DeviceChoice choice_of_many = choice(perceptron, 1000, 32, 10'000);  // 4 GB a run
  CHECK(!choice_of_many.is_gpu);
  CHECK(choice_of_many.why ==
        "such networks are faster on a GPU from 65 runs side by side on, and here are 1000, of "
        "which 15 fit into its memory");
}

TEST_CASE("device choice: no GPU passes more numbers than it has operations for") {
  // 2 operations a number, at most 40e12 a second; a convolution uses a number for every pixel.
  CHECK(most_numbers_a_second(blueprint_of(softmax)) == 1.5e13);
  CHECK(most_numbers_a_second(blueprint_of(perceptron)) == 1.5e13);
  CHECK(most_numbers_a_second(blueprint_of(lenet)) == 1e11);
}

TEST_CASE("device choice: it says why") {
  CHECK(choice(perceptron, 1024).why ==
        "such networks are faster on a GPU from 65 runs side by side on, and here are 1024");
  CHECK(choice(perceptron, 1).why ==
        "such networks are faster on a GPU from 65 runs side by side on, and here is 1");
}

TEST_CASE("device choice: what a GPU alone or the CPU alone computes decides") {
  CHECK(choice(softmax, 1, 32, 8, "tf32x3").is_gpu);
  CHECK(choice(softmax, 1, 32, 8, "tf32x3").why == "only a GPU computes in tf32x3");
  CHECK(!choice(softmax, 5000, 32, 8, "float64").is_gpu);
  CHECK(!choose_device({NoBlueprint{"its rows are not shared"}, "float32", 8, 32, 5000}).is_gpu);
  CHECK(choose_device({NoBlueprint{"its rows are not shared"}, "float32", 8, 32, 5000}).why ==
        "its rows are not shared");
  CHECK(!choose_device({QuadraticBlueprint{10, {1}, 1}, "float32", 8, 32, 5000}).is_gpu);
}

}  // namespace gradrace::device_choice_test
