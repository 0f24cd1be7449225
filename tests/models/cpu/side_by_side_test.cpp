#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "models/cpu/cpu_device.h"
#include "models/make_device.h"
#include "models/quadratic.h"
#include "tests/support/helpers.h"
#include "tests/support/race_text.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::side_by_side_test {

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

RaceRecord run_by(std::size_t members, const Point& point) {
  const Race race = point.race();
  RaceRecord record;
  with_helpers(members, [&](Crew& crew) {
    const auto device = make_device(*point.model, {.crew = &crew});
    record = run_race({race, 0, 50, nullptr}, device.get());
  });
  return record;
}

std::vector<double> losses_of(const RaceRecord& record) {
  std::vector<double> losses;
  for (const CurvePoint& at : record.curve) losses.push_back(at.evaluation.loss);
  return losses;
}

void check_equal(const Point& point) {
  const RaceRecord alone = run_by(1, point);
  REQUIRE(alone.hash != 0);
  for (const std::size_t members : {2u, 3u}) {
    const RaceRecord shared = run_by(members, point);
    CHECK(shared.hash == alone.hash);
    CHECK(losses_of(shared) == losses_of(alone));
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

struct Counts {
  std::atomic<std::size_t> gradients = 0, values = 0;  // evaluated
};

/// Counts its work, and takes its time for values.
class Counted final : public Model<double> {
 public:
  explicit Counted(Counts& counts)
      : model_(make_quadratic<double>({.dimensions = 1 << 20, .curvatures = {1, 2}})),
        counts_(counts) {}

  std::size_t parameters() const override { return model_->parameters(); }
  void initialise(std::uint64_t seed, std::uint32_t replica, std::span<double> w) override {
    model_->initialise(seed, replica, w);
  }
  void gradient(std::span<const double> w, const MinibatchName& name,
                std::span<double> g) override {
    ++counts_.gradients;
    model_->gradient(w, name, g);
  }
  void evaluate(std::span<const double* const> values, std::span<Evaluation> results) override {
    counts_.values += values.size();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    model_->evaluate(values, results);
  }

 private:
  std::unique_ptr<Model<double>> model_;
  Counts& counts_;
};

}  // namespace

TEST_CASE(
    "cpu device: every member computes some of the gradients and evaluates some of the values") {
  Race race = race_of(8, R"({"kind": "k-sync", "k": 8})", R"({"updates": 12})");
  race.evaluations.every_updates = 1;
  std::deque<Counts> counts;
  std::mutex mutex;
  const auto make = [&] {
    const std::lock_guard lock(mutex);
    return std::make_unique<Counted>(counts.emplace_back());
  };
  const auto losses_by = [&](std::size_t members) {
    std::vector<double> losses;
    with_helpers(members, [&](Crew& crew) {
      const auto device = make_cpu_device(CrewedModel<double>{make, &crew, 0});
      losses = losses_of(run_race({race, 0, 50, nullptr}, device.get()));
    });
    return losses;
  };
  const auto alone = losses_by(1);
  counts.clear();
  CHECK(losses_by(3) == alone);
  std::size_t gradients = 0, values = 0;
  for (const Counts& count : counts) {
    CHECK(count.gradients > 0);
    CHECK(count.values > 0);
    gradients += count.gradients, values += count.values;
  }
  CHECK(counts.size() == 3);
  CHECK(gradients == 96);
  CHECK(values == 13);
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

TEST_CASE("cpu device: values evaluated side by side have the bits of one thread") {
  check_equal(point_from(
      R"({"cluster": {"learners": 2, "runtime": {"distribution": "exponential", "mean": 1}},
          "model": {"kind": "softmax", "minibatch": 4, "dataset":
            {"kind": "synthetic", "features": 300, "rows": 20000, "test_rows": 50}},
          "learning_rate": {"kind": "constant", "eta": 0.05}, "protocol": {"kind": "async"},
          "stop": {"updates": 60}, "record": {"every_updates": 2}})"));
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

}  // namespace gradrace::side_by_side_test
