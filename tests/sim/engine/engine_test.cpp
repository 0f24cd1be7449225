#include "sim/engine/engine.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "sim/check.h"
#include "tests/support/race_text.h"

namespace gradrace::engine_test {

namespace {

/// Two learners without a server, each with a value of its own: one that has stepped averages with
/// the other and goes on.
class Pair {
 public:
  explicit Pair(const Race& race) : engine_(race, 0, 2, false, 0, tape_, nullptr) {
    tape_.begin();
    engine_.start();
    for (const std::uint32_t learner : {0u, 1u}) go_on(learner);
  }

  void step() {
    const Happening happening = engine_.next();
    REQUIRE(happening.kind == Happening::Kind::arrival);
    const std::uint32_t me = happening.learner, other = 1 - me;
    const GradientFacts arrival = engine_.gradient(me);
    engine_.settle(arrival, Ending::accepted);
    const Use use{arrival.gradient, ages_[me] - arrival.version, 0.1};
    const ValueId stepped = tape_.update(values_[me], 0, {&use, 1});
    const Term terms[] = {{stepped, 0.5}, {values_[other], 0.5}};
    values_[me] = tape_.average(stepped, terms);
    values_[other] = tape_.average(values_[other], terms);
    ages_[me] += 2;
    ages_[other] += 1;
    go_on(me);
    engine_.done(happening);
  }

  const Segment& tape() { return tape_.cut(values_, End::finished); }

 private:
  void go_on(std::uint32_t learner) {
    engine_.compute(learner, {values_[learner], ages_[learner], 0});
  }

  TapeWriter tape_{true};
  Engine engine_;
  std::array<ValueId, 2> values_{};
  std::array<std::uint32_t, 2> ages_{};
};

}  // namespace

TEST_CASE("engine: learners with values of their own stand on it as a server does") {
  const Race race = race_of(2, R"({"kind": "async"})", R"({"updates": 1})");
  Pair pair(race);
  for (int step = 0; step < 100; ++step) pair.step();
  const Segment& tape = pair.tape();
  REQUIRE(tape.ops.size() == 300);
  for (std::size_t i = 0; i < tape.ops.size(); ++i) REQUIRE(tape.ops[i].out == i + 1);
  CHECK(tape.live.size() == 2);
  CHECK(tape.gradients.size() == 102);
  // A gradient is computed at its learner's value of then, and moves that learner's value of now.
  bool behind = false;
  for (const Op& op : tape.ops) {
    if (op.kind != Op::Kind::update) continue;
    const Gradient& gradient = tape.gradients[tape.uses[op.first].gradient];
    REQUIRE(gradient.at <= op.base);
    behind = behind || gradient.at < op.base;
  }
  CHECK(behind);
}

TEST_CASE("engine: a gradient that arrived is settled once, and a learner computes one at a time") {
  const Race race = race_of(1, R"({"kind": "async"})", R"({"updates": 1})");
  TapeWriter tape(false);
  tape.begin();
  Engine engine(race, 0, race.learners, false, 0, tape, nullptr);
  engine.compute(0, {0, 0, 0});
  CHECK_THROWS_AS(engine.compute(0, {0, 0, 0}), BrokenInvariant);
  CHECK_THROWS_AS(engine.settle(engine.gradient(0), Ending::accepted), BrokenInvariant);
  CHECK(engine.next().kind == Happening::Kind::arrival);
  engine.settle(engine.gradient(0), Ending::dropped);
  CHECK_THROWS_AS(engine.settle(engine.gradient(0), Ending::dropped), BrokenInvariant);
  CHECK_THROWS_AS(engine.set(Happening::Kind::timer, engine.time() / 2), BrokenInvariant);
}

}  // namespace gradrace::engine_test
