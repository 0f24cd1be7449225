#include <doctest/doctest.h>

#include <set>

#include "models/gpu/cuda/cuda_device.h"
#include "models/make_device.h"
#include "tests/support/reading.h"

namespace gradrace::catalog_test {

static bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("models: names are unique and pages are full") {
  std::set<std::string_view> names;
  for (const ModelEntry* entry : model_catalog().entries) {
    CHECK(names.insert(entry->page.name).second);
    CHECK(!entry->page.definition.empty());
    CHECK(!entry->page.source.empty());
  }
  for (const DatasetEntry* entry : dataset_catalog().entries) {
    CHECK(names.insert(entry->page.name).second);
    CHECK(!entry->page.definition.empty());
    CHECK(!entry->page.source.empty());
  }
  CHECK(names == std::set<std::string_view>{
                     "quadratic", "least-squares", "logistic",  "softmax",
                     "svm",       "mlp",           "cnn",       "resnet",
                     "table",     "python",        "idx",       "mnist",
                     "cifar10",   "cifar100",      "npz",       "digits",
                     "libsvm",    "csv",           "synthetic", "synthetic-regression"});
}

TEST_CASE("models: the example of every page is read") {
  DataShelf shelf(".", {});
  shelf.tolerate_missing();
  for (const ModelEntry* entry : model_catalog().entries) {
    const auto reading = read_model(std::string(entry->page.example), shelf);
    CHECK(reading.problems == "");
    CHECK(reading.product != nullptr);
  }
}

TEST_CASE("models: what a scenario says is what the model tells") {
  DataShelf shelf(".", {});
  const auto softmax = read_model(
      R"({"kind": "softmax", "minibatch": 8, "dataset": {"kind": "synthetic", "rows": 123}})",
      shelf);
  REQUIRE(softmax.product);
  CHECK(softmax.product->minibatch()[0] == 8);
  CHECK(softmax.product->has_dataset());
  CHECK(softmax.product->training_rows() == 123);
  CHECK(softmax.product->data_hash().size() == 16);

  const auto quadratic = read_model(R"({"kind": "quadratic", "minibatch": 3})", shelf);
  REQUIRE(quadratic.product);
  CHECK(quadratic.product->minibatch()[0] == 3);
  CHECK(!quadratic.product->has_dataset());
  CHECK(quadratic.product->training_rows() == 0);
  CHECK(quadratic.product->data_hash() == "");
}

TEST_CASE("models: a device is made, and one that is not there is refused") {
  DataShelf shelf(".", {});
  for (const std::string precision : {"float32", "float64"}) {
    const auto softmax = read_model(R"({"kind": "softmax", "dataset": {"kind": "synthetic"}, )"
                                    R"("precision": ")" +
                                        precision + "\"}",
                                    shelf);
    const auto quadratic =
        read_model(R"({"kind": "quadratic", "precision": ")" + precision + "\"}", shelf);
    for (const auto& reading : {softmax, quadratic}) {
      CHECK(make_device(*reading.product, {}) != nullptr);
      CHECK(make_device(*reading.product, {.device = "cpu", .rows = {.train = 5}}) != nullptr);
      const DeviceOptions cuda{.device = "cuda", .rows = {.train = 5}};
      if (no_cuda_device().empty())
        CHECK(make_device(*reading.product, cuda) != nullptr);
      else
        CHECK_THROWS_WITH(make_device(*reading.product, cuda), doctest::Contains("CUDA device"));
    }
  }
}

TEST_CASE("models: products of TF32 are told to a GPU, and refused by the CPU") {
  DataShelf shelf(".", {});
  for (const std::string precision : {"float32", "tf32x3"}) {
    const auto softmax = read_model(R"({"kind": "softmax", "dataset": {"kind": "synthetic"}, )"
                                    R"("precision": ")" +
                                        precision + "\"}",
                                    shelf);
    REQUIRE(softmax.product);
    const Blueprint blueprint = softmax.product->make_float32()->blueprint();
    const bool told = precision == "tf32x3";
    CHECK(std::get<NetworkBlueprint>(blueprint).tf32x3 == told);
    if (told) {
      CHECK_THROWS_WITH(make_device(*softmax.product, {}),
                        "cpu: only a GPU computes in tf32x3; use --device cuda");
    }
  }
}

TEST_CASE("models: bad values are refused at their keys") {
  DataShelf shelf(".", {});
  const std::pair<const char*, const char*> cases[] = {
      {R"({"kind": "softmax"})", "it.dataset"},
      {R"({"kind": "softmax", "dataset": {"kind": "synthetic", "classes": 300}})",
       "it.dataset.classes"},
      {R"({"kind": "softmax", "dataset": {"kind": "synthetic"}, "minibatch": 0})", "it.minibatch"},
      {R"({"kind": "softmax", "dataset": {"kind": "synthetic"}, "l2": -1})", "it.l2"},
      {R"({"kind": "softmax", "dataset": {"kind": "synthetic"}, "init_sd": -1})", "it.init_sd"},
      {R"({"kind": "softmax", "dataset": {"kind": "synthetic"}, "sampling": "all"})",
       "it.sampling"},
      {R"({"kind": "mlp", "dataset": {"kind": "synthetic"}})", "it.widths"},
      {R"({"kind": "mlp", "dataset": {"kind": "synthetic"}, "widths": [0]})", "it.widths"},
      {R"({"kind": "mlp", "dataset": {"kind": "synthetic"}, "widths": [2.5]})", "it.widths"},
      {R"({"kind": "cnn", "dataset": {"kind": "synthetic"}, "channels": []})", "it.channels"},
      {R"({"kind": "cnn", "dataset": {"kind": "synthetic", "width": 8}})", "it.dataset.width"},
      {R"({"kind": "cnn", "dataset": {"kind": "synthetic", "width": 5, "height": 5}})",
       "it.dataset.features"},
      {R"({"kind": "cnn", "dataset": {"kind": "synthetic"}, "net": "alexnet"})", "it.net"},
      {R"({"kind": "resnet", "dataset": {"kind": "synthetic"}, "depth": 18})", "it.depth"},
      {R"({"kind": "resnet", "dataset": {"kind": "synthetic"}, "depth": 2})", "it.depth"},
      {R"({"kind": "resnet", "dataset": {"kind": "synthetic"}, "statistics_decay": 1})",
       "it.statistics_decay"},
      {R"({"kind": "resnet", "dataset": {"kind": "synthetic"}, "groups": 2})", "it.groups"},
      {R"({"kind": "resnet", "dataset": {"kind": "synthetic"}, "normalisation": "group",
           "groups": 0})",
       "it.groups"},
      {R"({"kind": "quadratic", "precision": "float16"})", "it.precision"},
      {R"({"kind": "softmax", "dataset": {"kind": "synthetic"}, "precision": "bf16"})",
       "it.precision"},
      {R"({"kind": "quadratic", "precision": "tf32x3"})", "it.precision"},
      {R"({"kind": "softmax", "precision": "tf32x3",
           "dataset": {"kind": "synthetic", "partition": {"kind": "iid"}}})",
       "it.precision"},
      {R"({"kind": "quadratic", "dimensions": 0})", "it.dimensions"},
      {R"({"kind": "quadratic", "noise": -1})", "it.noise"},
      {R"({"kind": "quadratic", "curvatures": [0]})", "it.curvatures"},
      {R"({"kind": "quadratic", "curvatures": []})", "it.curvatures"},
      {R"({"kind": "quadratic", "dimensions": 2, "curvatures": [1, 2, 3]})", "it.curvatures"},
  };
  for (const auto& [json, place] : cases) {
    const auto reading = read_model(json, shelf);
    CAPTURE(json);
    CAPTURE(reading.problems);
    CHECK(!reading.product);
    CHECK(holds(reading.problems, place));
  }
}

TEST_CASE("models: equal data sets of several models are one") {
  DataShelf shelf(".", {});
  const auto a = read_dataset(R"({"kind": "synthetic", "rows": 50})", shelf).product();
  const auto b = read_dataset(R"({"kind": "synthetic", "rows": 50, "seed": 1})", shelf).product();
  const auto c = read_dataset(R"({"kind": "synthetic", "rows": 51})", shelf).product();
  CHECK(a == b);
  CHECK(a != c);
}

}  // namespace gradrace::catalog_test
