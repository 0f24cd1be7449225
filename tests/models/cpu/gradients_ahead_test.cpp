#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "models/cpu/cpu_device.h"
#include "models/quadratic.h"
#include "tests/support/race_text.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::gradients_ahead_test {

namespace {

/// Gradients large enough to be shared.
Point point_of(const std::string& protocol, const std::string& rest = "") {
  return point_from(
      R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
          "model": {"kind": "softmax", "minibatch": 90, "init_sd": 0.01, "dataset":
            {"kind": "synthetic", "features": 784, "rows": 200, "test_rows": 50}},
          "learning_rate": {"kind": "constant", "eta": 0.05}, "protocol": )" +
      protocol + R"(, "stop": {"updates": 60}, "record": {"every_updates": 20})" + rest + "}");
}

RunRecord run_by(unsigned threads, const Point& point) {
  const Race race = point.race();
  const auto device = point.model->make_device({.threads = threads});
  Run run(race, 0, true, nullptr, nullptr, 50);
  drive({&run, 1}, device.get(), [] { return true; });
  return run.record();
}

void check_equal(const Point& point) {
  const RunRecord alone = run_by(1, point);
  REQUIRE(alone.hash != 0);
  for (const unsigned threads : {2u, 3u}) {
    const RunRecord shared = run_by(threads, point);
    CHECK(shared.hash == alone.hash);
    CHECK(shared.gradients_computed == alone.gradients_computed);
    CHECK(shared.totals.time == alone.totals.time);
  }
}

}  // namespace

TEST_CASE("cpu device: gradients side by side have the bits of one thread, in every protocol") {
  for (const auto& examples : {every_server_protocol(), every_peer_protocol()}) {
    for (const std::string& protocol : examples) {
      CAPTURE(protocol);
      check_equal(point_of(protocol));
    }
  }
}

namespace {

/// Counts its gradients.
class Counted final : public Model<double> {
 public:
  explicit Counted(std::size_t& count)
      : model_(make_quadratic<double>({.dimensions = 1 << 20, .curvatures = {1, 2}})),
        count_(count) {}

  std::size_t parameters() const override { return model_->parameters(); }
  void initialise(std::uint64_t seed, std::uint32_t replica, std::span<double> w) override {
    model_->initialise(seed, replica, w);
  }
  void gradient(std::span<const double> w, const MinibatchName& name,
                std::span<double> g) override {
    ++count_;
    model_->gradient(w, name, g);
  }
  void evaluate(std::span<const double* const> values, std::span<Evaluation> results) override {
    model_->evaluate(values, results);
  }

 private:
  std::unique_ptr<Model<double>> model_;
  std::size_t& count_;
};

}  // namespace

TEST_CASE("cpu device: every thread computes some of the gradients that are ready") {
  const Race race = race_of(8, R"({"kind": "k-sync", "k": 8})", R"({"updates": 6})");
  std::vector<std::size_t> counts(3);
  std::vector<std::unique_ptr<Model<double>>> models;
  for (std::size_t& count : counts) models.push_back(std::make_unique<Counted>(count));
  const auto device = make_cpu_device(std::move(models));
  Run run(race, 0, true, nullptr);
  drive({&run, 1}, device.get(), [] { return true; });
  CHECK(std::accumulate(counts.begin(), counts.end(), std::size_t{0}) == 48);
  for (const std::size_t count : counts) CHECK(count > 0);
}

namespace {

/// Of K-sync with that model.
Point with_model(const std::string& model) {
  return point_from(
      R"({"cluster": {"learners": 5, "runtime": {"distribution": "exponential", "mean": 1}},
          "model": )" +
      model + R"(, "learning_rate": {"kind": "constant", "eta": 0.01},
          "protocol": {"kind": "k-sync", "k": 4}, "stop": {"updates": 12},
          "record": {"every_updates": 4}})");
}

/// 60 rows of 300 numbers, of which a tenth is not 0.
std::string sparse_rows() {
  std::string text;
  for (int row = 0; row < 60; ++row) {
    text += row % 3 == 0 ? "1" : "-1";
    for (int i = 1 + row % 7; i <= 300; i += 10)
      text += ' ' + std::to_string(i) + ':' + std::to_string((row * i) % 9 - 4) + ".5";
    text += '\n';
  }
  return text;
}

}  // namespace

TEST_CASE("cpu device: side by side also with statistics, entries and shards") {
  check_equal(with_model(R"({"kind": "resnet", "depth": 8, "minibatch": 16, "dataset":
      {"kind": "synthetic", "features": 192, "height": 8, "width": 8, "rows": 40,
       "test_rows": 10}})"));
  const TemporaryFolder folder;
  folder.write("sparse", sparse_rows());
  check_equal(with_model(R"({"kind": "mlp", "widths": [64], "minibatch": 60, "dataset":
      {"kind": "libsvm", "test_rows": 10, "path": ")" +
                         (folder.path() / "sparse").string() + R"("}})"));
  check_equal(with_model(R"({"kind": "softmax", "minibatch": 140, "dataset":
      {"kind": "synthetic", "features": 784, "rows": 200, "test_rows": 50,
       "partition": {"kind": "by-class", "classes": 3}}})"));
}

TEST_CASE("cpu device: side by side also with clipping, momentum and a rate by distance") {
  check_equal(point_of(R"({"kind": "k-sync", "k": 5})", R"(, "optimiser": {"kind": "sgd",
      "momentum": 0.9, "clip": 0.5})"));
  check_equal(point_of(R"({"kind": "async"})", R"(, "optimiser": {"kind": "adam", "ema": 0.9})"));
  const Point by_distance = point_from(
      R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
          "model": {"kind": "softmax", "minibatch": 90, "init_sd": 0.01, "dataset":
            {"kind": "synthetic", "features": 784, "rows": 200, "test_rows": 50}},
          "learning_rate": {"kind": "distance", "c": 0.1, "eta_max": 0.05},
          "protocol": {"kind": "k-async", "k": 3}, "stop": {"updates": 60}})");
  check_equal(by_distance);
}

}  // namespace gradrace::gradients_ahead_test
