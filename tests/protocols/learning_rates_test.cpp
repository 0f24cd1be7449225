#include <doctest/doctest.h>

#include "tests/race_text.h"

using namespace gradrace;

namespace {

Point point_with(const std::string& learning_rate, const std::string& stop,
                 const std::string& model) {
  return point_from(
      R"({"cluster": {"learners": 2, "runtime": {"distribution": "exponential", "mean": 1}},
    "model": )" +
      model + R"(, "protocol": {"kind": "async"}, "learning_rate": )" + learning_rate +
      R"(, "stop": )" + stop + "}");
}

const char* const quadratic = R"({"kind": "quadratic"})";
const char* const softmax =
    R"({"kind": "softmax", "dataset": {"kind": "synthetic", "rows": 100}, "minibatch": 10})";

}  // namespace

TEST_CASE("constant: the same eta at any work and staleness") {
  const Point point =
      point_with(R"({"kind": "constant", "eta": 0.25})", R"({"updates": 1})", quadratic);
  CHECK(point.learning_rate->eta({}, 0) == 0.25);
  CHECK(point.learning_rate->eta({1000, 32000, 3.5}, 17) == 0.25);
}

TEST_CASE("step: decays at its marks in gradients, neither before nor after") {
  const Point point = point_with(
      R"({"kind": "step", "eta": 1, "factor": 0.5, "at": [20, 10], "unit": "gradients"})",
      R"({"updates": 1})", quadratic);
  const auto eta = [&](std::uint64_t gradients) {
    return point.learning_rate->eta({gradients, 0, 0}, 3);
  };
  CHECK(eta(0) == 1);
  CHECK(eta(9) == 1);
  CHECK(eta(10) == 0.5);
  CHECK(eta(19) == 0.5);
  CHECK(eta(20) == 0.25);
}

TEST_CASE("step: marks in epochs and as fractions of the work that stop allows") {
  const Point epochs = point_with(R"({"kind": "step", "eta": 1, "factor": 0.1, "at": 1.5})",
                                  R"({"updates": 1})", softmax);
  CHECK(epochs.learning_rate->eta({0, 0, 1.49}, 0) == 1);
  CHECK(epochs.learning_rate->eta({0, 0, 1.5}, 0) == 0.1);
  const Point fraction =
      point_with(R"({"kind": "step", "eta": 1, "factor": 0.1, "at": [0.5], "unit": "fraction"})",
                 R"({"gradients": 200})", quadratic);
  CHECK(fraction.learning_rate->eta({99, 0, 0}, 0) == 1);
  CHECK(fraction.learning_rate->eta({100, 0, 0}, 0) == 0.1);
}

TEST_CASE("step: is indexed by work, so a run decays at the same gradient whatever its K") {
  for (const auto* protocol :
       {R"({"kind": "k-sync", "k": 4})", R"({"kind": "async"})", R"({"kind": "sync"})"}) {
    Race race = race_of(8, protocol, R"({"gradients": 1600})");
    race.plans[0].learning_rate =
        point_with(R"({"kind": "step", "eta": 1, "factor": 0.5, "at": [800], "unit": "gradients"})",
                   R"({"updates": 1})", quadratic)
            .learning_rate;
    TimingPlane plane(race, 0, true, nullptr, 1'000'000);
    const Segment& segment = plane.next_segment();
    std::uint64_t applied = 0;
    for (const Op& op : segment.ops) {
      if (op.kind != Op::Kind::update) continue;
      for (std::uint32_t i = op.first; i < op.first + op.count; ++i) {
        REQUIRE(segment.uses[i].weight == (applied < 800 ? 1.0 : 0.5) / op.count);
      }
      applied += op.count;
    }
    CHECK(applied == 1600);
  }
}
