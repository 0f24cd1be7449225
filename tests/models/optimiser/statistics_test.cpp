#include "models/optimiser/statistics.h"

#include <doctest/doctest.h>

#include <cmath>

#include "models/cpu/cpu_device.h"
#include "models/make_device.h"
#include "models/optimiser/optimiser.h"
#include "tests/support/race_text.h"
#include "tests/support/whole_tape.h"

namespace gradrace::statistics_test {

namespace {

/// F = w^2 / 2 of one parameter from 8, and one statistic from 1, which in a minibatch is 10 x
/// learner + draw.  A loss is w, and a test loss the statistic, of the value evaluated.
class Told final : public Model<double> {
 public:
  std::size_t parameters() const override { return 2; }
  Statistics statistics() const override { return {1, 0.75}; }
  void initialise(std::uint64_t, std::uint32_t, std::span<double> w) override {
    w[0] = 8, w[1] = 1;
  }
  void gradient(std::span<const double> w, const MinibatchName& name,
                std::span<double> g) override {
    g[0] = w[0];
    g[1] = 10 * name.learner + name.draw;
  }
  void evaluate(std::span<const double* const> values, std::span<Evaluation> results) override {
    for (std::size_t v = 0; v < values.size(); ++v)
      results[v] = {.loss = values[v][0], .test_loss = values[v][1], .test_error = 0};
  }
};

/// Gradients of one update each: at which value, of which learner and draw, with which weight.
struct Given {
  ValueId at;
  std::uint32_t learner, draw;
  double weight;
};
using Updates = std::vector<std::vector<Given>>;

/// The values after each of the updates.
std::vector<Evaluation> told(const Updates& updates, const Rule& rule, double clip = 0) {
  const auto device = make_cpu_device<double>(std::make_unique<Told>());
  const Tape tape{1, 0, {{1, clip}}, {rule}};
  device->start({&tape, 1});
  Segment segment;
  ValueId value = 0;
  for (const auto& uses : updates) {
    const auto first = static_cast<std::uint32_t>(segment.uses.size());
    for (const Given& given : uses) {
      segment.uses.push_back(
          {static_cast<GradientId>(segment.gradients.size()), value - given.at, given.weight});
      segment.gradients.push_back({given.at, given.learner, given.draw, 0, Fate::used});
    }
    segment.ops.push_back(
        {Op::Kind::update, 0, value + 1, value, first, static_cast<std::uint32_t>(uses.size())});
    ++value;
    segment.ops.push_back({Op::Kind::evaluate, 0, value, value, 0, 0});
  }
  segment.live = {value};
  segment.end = End::finished;
  Results results;
  const Segment* wave = &segment;
  device->replay({&wave, 1}, {&results, 1});
  return results.evaluations;
}

}  // namespace

TEST_CASE("statistics: an update merges its gradients' means by their weights, stale or not") {
  // Three gradients at value 0 with statistics 1, 12, 23 and weights 1, 2, 5 eighths of 0.4: mean
  // (1 + 24 + 115) / 8 = 17.5; then one of weight 0.1 at value 1 and a stale one of 0.3 at value 0.
  const auto values = told(
      {{{0, 0, 1, 0.05}, {0, 1, 2, 0.1}, {0, 2, 3, 0.25}}, {{1, 3, 0, 0.1}, {0, 0, 2, 0.3}}}, {});
  REQUIRE(values.size() == 2);
  CHECK(values[0].loss == doctest::Approx(8 - 0.4 * 8));
  CHECK(values[0].test_loss == doctest::Approx(0.75 * 1 + 0.25 * 17.5));
  CHECK(values[1].loss == doctest::Approx(4.8 - 0.1 * 4.8 - 0.3 * 8));
  CHECK(values[1].test_loss == doctest::Approx(0.75 * 5.125 + 0.25 * (30 + 3 * 2) / 4));
}

TEST_CASE("statistics: what acts on parameters does not see them") {
  const Updates updates{{{0, 0, 4, 0.1}, {0, 0, 5, 0.1}}, {{1, 0, 6, 0.2}}};
  const double first = 0.75 + 0.25 * 4.5, second = 0.75 * first + 0.25 * 6;
  const auto check_statistics = [&](const std::vector<Evaluation>& values) {
    CHECK(values[0].test_loss == doctest::Approx(first).epsilon(1e-14));
    CHECK(values[1].test_loss == doctest::Approx(second).epsilon(1e-14));
  };
  check_statistics(told(updates, {}));
  const auto momentum = told(updates, {make_optimiser(Sgd{.momentum = 0.5})});
  check_statistics(momentum);
  CHECK(momentum[1].loss == doctest::Approx(6.4 - 0.5 * 1.6 - 0.2 * 6.4));
  check_statistics(told(updates, {make_optimiser(Sgd{.momentum = 0.5, .nesterov = true})}));
  const auto rmsprop = told(updates, {make_optimiser(Sgd{.rmsprop = RmsProp{0.5, 0}})});
  check_statistics(rmsprop);
  CHECK(rmsprop[0].loss == doctest::Approx(8 - 0.2 * 8 / std::sqrt(0.5 + 32)));
  const auto adamw = told(updates, {make_optimiser(AdamW{})});
  check_statistics(adamw);
  CHECK(adamw[0].loss == doctest::Approx(8 - 0.2 - 0.2 * 0.01 * 8));
  // Two gradients of norm 8 each clipped to 2, however great the statistic.
  const auto clipped = told(updates, {}, 2);
  check_statistics(clipped);
  CHECK(clipped[0].loss == doctest::Approx(8 - 0.2 * 2));
  // Of a distance only that of w counts; the factor is in the mean's weight too.
  const auto distant =
      told({{{0, 0, 4, 0.1}}, {{1, 0, 8, 0.1}, {0, 0, 6, 0.1}}}, {.distance = 0.16});
  CHECK(distant[0].loss == doctest::Approx(7.2));  // (8 - 7.2)^2 = 0.64
  CHECK(distant[1].loss == doctest::Approx(7.2 - 0.72 - 0.025 * 8));
  CHECK(distant[1].test_loss == doctest::Approx(0.75 * 1.75 + 0.25 * (8 + 0.25 * 6) / 1.25));
}

TEST_CASE("statistics: an ema averages them with the others") {
  const auto values = told({{{0, 0, 5, 0.25}}, {{1, 0, 9, 0.25}}}, {.ema = 0.5});
  CHECK(values[0].loss == doctest::Approx((8 + 6) / 2.0));
  CHECK(values[0].test_loss == doctest::Approx((1 + 2) / 2.0));
  CHECK(values[1].loss == doctest::Approx((7 + 4.5) / 2));
  CHECK(values[1].test_loss == doctest::Approx((1.5 + 0.75 * 2 + 0.25 * 9) / 2));
}

TEST_CASE("statistics: an update of no rate leaves them") {
  const auto values = told({{{0, 0, 5, 0}}, {{1, 0, 9, 0.25}}}, {});
  CHECK(values[0].test_loss == 1);
  CHECK(values[1].test_loss == doctest::Approx(0.75 + 0.25 * 9));
}

TEST_CASE("statistics: they are among what learners disagree on, an ema is not") {
  // From (8, 1) to (6, 2).
  WholeTape written;
  const ValueId moved = written.update(0, {{written.gradient(0, 0, 5), 0, 0.25}});
  written.evaluate(0, {{0, 0.75}, {moved, 0.25}});
  written.evaluate(moved);
  const std::vector<Segment> segments = written.cut(10, {moved});
  for (const Rule& rule : {Rule{}, Rule{.ema = 0.5}}) {
    const auto device = make_cpu_device<double>(std::make_unique<Told>());
    const Tape tape{1, 0, {{1, 0}}, {rule}};
    device->start({&tape, 1});
    Results results;
    const Segment* wave = &segments.front();
    device->replay({&wave, 1}, {&results, 1});
    REQUIRE(results.evaluations.size() == 2);
    CHECK(results.evaluations[0].disagreement == 0.25 * (2 * 2 + 1 * 1));
    CHECK(std::isnan(results.evaluations[1].disagreement));
  }
}

/// A run of k-async of four learners.
static RaceRecord raced(const std::string& augment, std::uint32_t updates, std::uint32_t limit) {
  const Point point = point_from(R"({
    "cluster": {"learners": 4, "runtime": {"distribution": "exponential", "mean": 1}},
    "protocol": {"kind": "k-async", "k": 2}, "record": {"every_updates": 20},
    "learning_rate": {"kind": "constant", "eta": 0.05}, "optimiser": {"momentum": 0.9, "clip": 2},
    "model": {"kind": "resnet", "depth": 8, "width": 4, "minibatch": 15, "l2": 1e-4,
              "dataset": {"kind": "synthetic", "rows": 400, "test_rows": 200, "features": 64,
                          "height": 8, "width": 8, "classes": 3, "separation": 8},
              "augment": )" + augment +
                                 R"(}, "stop": {"updates": )" + std::to_string(updates) + "}}");
  const Race race = point.race();
  const auto device = make_device(*point.model, {});
  return run_race({race, 0, limit}, device.get());
}

TEST_CASE("statistics: a resnet has equal bits for any segment limit") {
  for (const char* augment : {"true", "false"}) {
    const RaceRecord reference = raced(augment, 60, 1'000'000);
    for (const std::uint32_t limit : {1u, 17u}) {
      const RaceRecord other = raced(augment, 60, limit);
      CHECK(other.hash == reference.hash);
      REQUIRE(other.curve.size() == reference.curve.size());
      for (std::size_t i = 0; i < other.curve.size(); ++i)
        CHECK(other.curve[i].evaluation.loss == reference.curve[i].evaluation.loss);
    }
  }
}

TEST_CASE("statistics: a resnet learns, and is right with the statistics that it carries") {
  const RaceRecord record = raced("false", 200, 4096);
  CHECK(record.curve.front().evaluation.test_error > 0.4);
  CHECK(record.curve.back().evaluation.loss < 0.05);
  CHECK(record.curve.back().evaluation.test_error <= 0.02);
}

}  // namespace gradrace::statistics_test
