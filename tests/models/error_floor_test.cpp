#include <doctest/doctest.h>

#include <cmath>

#include "tests/race_text.h"

using namespace gradrace;

namespace {

/// F(w) = w^2 / 2, noise of variance 1 (c = L = m = sigma = 1), P = 8, exponential runtimes.
Point quadratic(const std::string& protocol, double eta, std::uint64_t updates, std::uint64_t every,
                double start) {
  return point_from(
      R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
    "model": {"kind": "quadratic", "noise": 1, "start": )" +
      std::to_string(start) + R"(, "precision": "float64"},
    "protocol": )" +
      protocol + R"(, "learning_rate": {"kind": "constant", "eta": )" + std::to_string(eta) +
      R"(}, "stop": {"updates": )" + std::to_string(updates) +
      R"(}, "record": {"every_updates": )" + std::to_string(every) + "}}");
}

RunRecord run(const Point& point, std::uint32_t replica) {
  const Race race = point.race();
  const auto device = point.model->make_device({});
  Run one(race, replica, true, nullptr);
  drive({&one, 1}, device.get(), [] { return true; });
  return one.record();
}

struct Mean {
  double value, error;  // mean and its standard error over replicas
};

/// Mean loss over the evaluations after the first `burn_in`.
Mean floor_of(const std::string& protocol, double eta, std::uint32_t replicas,
              std::uint64_t updates) {
  const Point point = quadratic(protocol, eta, updates, 10, 0);
  const std::size_t burn_in = static_cast<std::size_t>(5 / eta / 10) + 1;
  double sum = 0, squares = 0;
  for (std::uint32_t replica = 0; replica < replicas; ++replica) {
    const auto curve = run(point, replica).curve;
    double mean = 0;
    for (std::size_t i = burn_in; i < curve.size(); ++i) mean += curve[i].evaluation.loss;
    mean /= static_cast<double>(curve.size() - burn_in);
    sum += mean;
    squares += mean * mean;
  }
  const double mean = sum / replicas;
  return {mean, std::sqrt((squares / replicas - mean * mean) / (replicas - 1))};
}

void check_floor(const std::string& protocol, double eta, double expected, double tolerance) {
  const Mean floor = floor_of(protocol, eta, 40, eta < 0.01 ? 60000 : 20000);
  CAPTURE(protocol);
  CAPTURE(floor.value);
  CAPTURE(floor.error);
  CAPTURE(expected);
  CHECK(std::abs(floor.value - expected) <= 4 * floor.error + tolerance * expected);
  CHECK(floor.error <= 0.02 * expected);
}

}  // namespace

TEST_CASE("error floor: the sync family settles at eta sigma^2 / (2 K m (2 - eta c))") {
  for (const double eta : {0.005, 0.05}) {
    const auto floor = [eta](double k) { return eta / (2 * k * (2 - eta)); };
    check_floor(R"({"kind": "sync"})", eta, floor(8), 0);
    check_floor(R"({"kind": "k-sync", "k": 4})", eta, floor(4), 0);
    check_floor(R"({"kind": "k-batch-sync", "k": 4})", eta, floor(4), 0);
    check_floor(R"({"kind": "k-sync", "k": 1})", eta, floor(1), 0);
  }
}

TEST_CASE("error floor: staleness raises it, to the published values to their last digit") {
  // Half a unit of the last printed digit is added to the bound.
  check_floor(R"({"kind": "k-async", "k": 4})", 0.005, 3.1e-4, 0.05e-4 / 3.1e-4);
  check_floor(R"({"kind": "async"})", 0.005, 1.34e-3, 0.005e-3 / 1.34e-3);
  check_floor(R"({"kind": "k-async", "k": 4})", 0.05, 3.4e-3, 0.05e-3 / 3.4e-3);
  check_floor(R"({"kind": "async"})", 0.05, 1.73e-2, 0.005e-2 / 1.73e-2);
}

TEST_CASE("error floor: `theory` gives the sync family's from the model") {
  const Point point = quadratic(R"({"kind": "sync"})", 0.05, 1, 1, 0);
  CHECK(std::abs(point.model->error_floor(0.05, 8).value() - 0.05 / (16 * 1.95)) <= 1e-15);
}

TEST_CASE(
    "error floor: the mean of 200 replicas of every sync-family run stays below Lemma 2 at every "
    "evaluation") {
  constexpr double eta = 0.05;
  constexpr std::uint32_t replicas = 200;
  for (const auto& [protocol, k] : {std::pair{R"({"kind": "sync"})", 8.0},
                                    {R"({"kind": "k-sync", "k": 2})", 2.0},
                                    {R"({"kind": "k-sync", "k": 1})", 1.0},
                                    {R"({"kind": "k-batch-sync", "k": 4})", 4.0}}) {
    const Point point = quadratic(protocol, eta, 300, 1, 2);
    std::vector<double> mean(301, 0.0);
    for (std::uint32_t replica = 0; replica < replicas; ++replica) {
      const auto curve = run(point, replica).curve;
      REQUIRE(curve.size() == mean.size());
      for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += curve[j].evaluation.loss / replicas;
    }
    for (std::size_t j = 0; j < mean.size(); ++j) {
      const double floor = eta / (2 * k), gap = 2 - floor;  // F(w_0) = 2^2 / 2
      const double bound = floor + std::pow(1 - eta, static_cast<double>(j)) * gap;
      CAPTURE(protocol);
      CAPTURE(j);
      REQUIRE(mean[j] <= bound * (1 + 1e-12));  // rounding of 200 terms
    }
    // The bound is not idle: it is within a factor 4 of the mean at the start and of the floor at
    // the end.
    CHECK(mean[0] == doctest::Approx(2));
    CHECK(4 * mean[300] >= eta / (2 * k));
  }
}
