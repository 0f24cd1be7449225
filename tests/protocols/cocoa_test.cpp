#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/make_device.h"
#include "tests/support/model_checks.h"
#include "tests/support/race_text.h"
#include "tests/support/reading.h"

namespace gradrace::cocoa_test {

namespace {

constexpr std::uint32_t rows = 60, features = 7;
constexpr double l2 = 0.02;

std::string data_set(const std::string& partition) {
  return R"({"kind": "synthetic", "rows": 60, "test_rows": 9, "features": 7, "classes": 3,
             "separation": 1, "partition": {"kind": ")" +
         partition + R"("}})";
}

Point point_of(std::uint32_t learners, const std::string& keys, const std::string& more = "") {
  return point_from(R"({"cluster": {"learners": )" + std::to_string(learners) +
                    R"(, "runtime": {"distribution": "exponential", "mean": 1}},
      "model": {"kind": "svm", "positive": 2, "l2": 0.02, "dataset": )" +
                    data_set("iid") + more + R"(},
      "protocol": {"kind": "cocoa", "local_steps": 11, )" +
                    keys + R"(}, "stop": {"updates": 40}, "record": {"every_updates": 1}})");
}

const std::string exactly = R"(, "precision": "float64")";

/// The algorithm, round by round, in the words of the papers: lambda = 2 l2.
struct Loop {
  std::shared_ptr<const Dataset> data;
  std::shared_ptr<const Shards> shards;
  double gamma, sigma;
  Vector w = Vector(features), alpha = Vector(rows);

  double x_dot(std::uint32_t i, const Vector& v) const {
    double sum = 0;
    for (std::size_t j = 0; j < features; ++j) sum += feature(*data, data->train, i, j) * v[j];
    return sum;
  }
  double label(std::uint32_t i) const { return data->train.classes[i] == 2 ? 1 : -1; }

  void round(std::uint32_t learners, std::uint32_t number, std::uint32_t steps) {
    const double lambda_n = 2 * l2 * rows;
    Vector sum(features), next = alpha;
    for (std::uint32_t k = 0; k < learners; ++k) {
      std::vector<std::uint32_t> drawn(steps);
      minibatch_rows(Sampling::iid, {1, 0, k, number, steps}, shards->of(k), drawn);
      Vector local = alpha, dw(features);
      for (const std::uint32_t i : drawn) {
        Vector x(features), effective(features);
        for (std::size_t j = 0; j < features; ++j) {
          x[j] = feature(*data, data->train, i, j);
          effective[j] = w[j] + sigma * dw[j];
        }
        const double slope = (label(i) * x_dot(i, effective) - 1) * lambda_n;
        const double better = local[i] - slope / (sigma * x_dot(i, x));
        const double moved = std::min(1.0, std::max(0.0, better)) - local[i];
        for (std::size_t j = 0; j < features; ++j) dw[j] += x[j] * label(i) * moved / lambda_n;
        local[i] += moved;
      }
      for (std::size_t j = 0; j < features; ++j) sum[j] += dw[j];
      for (const std::uint32_t i : shards->of(k)) next[i] += gamma * (local[i] - alpha[i]);
    }
    for (std::size_t j = 0; j < features; ++j) w[j] += gamma * sum[j];
    alpha = next;
  }

  double primal() const {
    double sum = 0;
    for (std::uint32_t i = 0; i < rows; ++i) sum += std::max(0.0, 1 - label(i) * x_dot(i, w));
    return sum / rows + l2 * norm(w) * norm(w);
  }
  /// Of alpha alone.
  double dual() const {
    Vector v(features);
    double sum = 0;
    for (std::uint32_t i = 0; i < rows; ++i) {
      sum += alpha[i];
      for (std::size_t j = 0; j < features; ++j)
        v[j] += alpha[i] * label(i) * feature(*data, data->train, i, j) / (2 * l2 * rows);
    }
    return sum / rows - l2 * norm(v) * norm(v);
  }
};

}  // namespace

TEST_CASE("cocoa: losses and duality gaps are those of a loop written out") {
  for (const std::uint32_t learners : {1u, 3u, 4u}) {
    DataShelf shelf(".", ".");
    shelf.share_among({learners, 1});
    const auto read = read_partitioned(data_set("iid"), shelf);
    REQUIRE(read.problems.empty());
    const double P = learners;
    const struct {
      std::string keys;
      double gamma, sigma;
    } cases[] = {{R"("beta": 1)", 1 / P, 1},
                 {R"("beta": 0.5)", 0.5 / P, 1},
                 {R"("gamma": 1)", 1, P},
                 {R"("gamma": 0.25)", 0.25, 0.25 * P}};
    for (const auto& [keys, gamma, sigma] : cases) {
      CAPTURE(learners);
      CAPTURE(keys);
      const RaceRecord record = run_training(point_of(learners, keys, exactly));
      REQUIRE(record.curve.size() == 41);
      Loop loop{read.product.load(), read.product.shards(), gamma, sigma};
      for (std::uint32_t round = 0; round <= 40; ++round) {
        if (round > 0) loop.round(learners, round - 1, 11);
        const CurvePoint& at = record.curve[round];
        const double gap = loop.primal() - loop.dual();
        REQUIRE(std::abs(at.evaluation.loss - loop.primal()) <= 1e-12);
        REQUIRE(std::abs(at.evaluation.duality_gap - gap) <= 1e-12);
        REQUIRE(at.evaluation.duality_gap >= 0);
        REQUIRE(at.point.epoch == doctest::Approx(round * 11 * P / rows).epsilon(1e-12));
        REQUIRE(at.point.learning_rate == doctest::Approx(gamma * P).epsilon(1e-15));
      }
      CHECK(record.curve.back().evaluation.duality_gap <
            0.5 * record.curve[1].evaluation.duality_gap);
    }
  }
}

TEST_CASE("cocoa: the same bits in segments of any length, side by side and in another order") {
  for (const std::string precision : {"float32", "float64"}) {
    const Point point =
        point_of(4, R"("gamma": 1)", R"(, "sampling": "epoch", "precision": ")" + precision + "\"");
    const Race race = point.race();
    const auto device = make_device(*point.model, {});
    std::vector<RaceRecord> whole;
    for (const std::uint32_t replica : {0u, 1u})
      whole.push_back(run_race({race, replica}, device.get()));
    CHECK(whole[0].hash != whole[1].hash);
    const auto cut = run_races({{race, 1, 1}, {race, 0, 7}}, device.get());
    for (const std::uint32_t replica : {0u, 1u}) {
      const RaceRecord &one = whole[replica], &other = cut[1 - replica];
      CHECK(one.hash == other.hash);
      REQUIRE(one.curve.size() == other.curve.size());
      for (std::size_t i = 0; i < one.curve.size(); ++i) {
        CHECK(one.curve[i].evaluation.loss == other.curve[i].evaluation.loss);
        CHECK(one.curve[i].evaluation.duality_gap == other.curve[i].evaluation.duality_gap);
      }
    }
  }
}

TEST_CASE("cocoa: a round takes the longest pass over its rows, and a collective") {
  const Point point = point_from(R"({"cluster": {"learners": 4, "rate": 100,
      "runtime": {"distribution": "deterministic", "value": 0.25},
      "network": {"topology": "mesh", "latency": 0.01, "bandwidth": 100, "model_bytes": 8}},
      "model": {"kind": "svm", "l2": 0.1, "dataset": {"kind": "synthetic", "rows": 100,
                "partition": {"kind": "iid"}}},
      "protocol": {"kind": "cocoa", "local_steps": 50, "beta": 1}, "stop": {"updates": 10}})");
  const double round = 0.75 + 6 * 0.01 + 1.5 * 0.08;
  CHECK(run_timing(point.race()).totals.time == doctest::Approx(10 * round).epsilon(1e-12));
  const Theory theory = point.theory();
  REQUIRE(theory.iteration_time);
  CHECK(theory.iteration_time->value == doctest::Approx(round).epsilon(1e-12));
  CHECK(theory.iteration_time->basis == Basis::exact);
}

TEST_CASE("cocoa: other protocols train svm, and have no duality gap") {
  for (const char* protocol :
       {R"({"kind": "k-async", "k": 2})", R"({"kind": "local-sgd", "tau": 4})"}) {
    const Point point = point_from(
        R"({"cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}},
            "model": {"kind": "svm", "l2": 0.01, "dataset": {"kind": "synthetic", "rows": 200}},
            "learning_rate": {"kind": "constant", "eta": 0.05}, "stop": {"updates": 300},
            "record": {"every_updates": 300}, "protocol": )" +
        std::string(protocol) + "}");
    const RaceRecord record = run_training(point);
    CHECK(record.curve.back().evaluation.loss < 0.5 * record.curve.front().evaluation.loss);
    CHECK(std::isnan(record.curve.back().evaluation.duality_gap));
  }
}

}  // namespace gradrace::cocoa_test
