#include "models/replay/lowering.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "sim/check.h"
#include "sim/engine/timing_plane.h"
#include "tests/support/race_text.h"

namespace gradrace {

static Op update_of(ValueId out, ValueId base, std::uint32_t first, std::uint32_t count) {
  return {Op::Kind::update, 0, out, base, first, count};
}

static Op evaluation_of(ValueId value) { return {Op::Kind::evaluate, 0, value, value, 0, 0}; }

static bool is(const Step& step, const Step& wanted) {
  return step.kind == wanted.kind && step.rule == wanted.rule && step.out == wanted.out &&
         step.base == wanted.base && step.first == wanted.first && step.count == wanted.count;
}

TEST_CASE("lowering: a chain of updates takes turns in two slots") {
  Lowering lowering;
  Segment segment;
  segment.gradients = {
      {0, 0, 0, 0, Fate::used}, {1, 0, 1, 0, Fate::used}, {2, 0, 2, 0, Fate::used}};
  segment.uses = {{0, 0, 0.5}, {1, 0, 0.25}, {2, 0, 0.125}};
  segment.ops = {update_of(1, 0, 0, 1), update_of(2, 1, 1, 1), update_of(3, 2, 2, 1)};
  segment.live = {3};
  const Program& program = lowering.lower(segment);
  REQUIRE(program.steps.size() == 3);
  CHECK(is(program.steps[0], {Step::Kind::update, 0, 1, 0, 0, 1}));
  CHECK(is(program.steps[1], {Step::Kind::update, 0, 0, 1, 1, 1}));
  CHECK(is(program.steps[2], {Step::Kind::update, 0, 1, 0, 2, 1}));
  CHECK(program.uses[1].at == 1);
  CHECK(program.uses[1].weight == 0.25);
  CHECK(lowering.last() == 1);
  CHECK(lowering.slots() == 2);
}

TEST_CASE("lowering: a value stays while an open gradient or a later evaluation names it") {
  Lowering lowering;
  Segment segment;
  // Learner 1 computes at value 0 all the while; value 1 is evaluated.
  segment.gradients = {
      {0, 0, 0, 0, Fate::used}, {0, 1, 0, 0, Fate::open}, {1, 0, 1, 0, Fate::used}};
  segment.uses = {{0, 0, 1}, {2, 0, 1}};
  segment.ops = {update_of(1, 0, 0, 1), evaluation_of(1), update_of(2, 1, 1, 1)};
  segment.live = {2};
  const Program& first = lowering.lower(segment);
  REQUIRE(first.steps.size() == 3);
  CHECK(first.steps[1].out == 2);  // neither 0 nor 1
  CHECK(first.steps[2].kind == Step::Kind::evaluate);
  REQUIRE(first.evaluated.size() == 1);
  CHECK(first.evaluated[0].at == 1);
  CHECK(first.evaluated[0].uses == 1);  // before the second update

  segment.clear();
  segment.first_gradient = 3;
  segment.gradients = {{2, 0, 2, 0, Fate::used}};
  segment.uses = {{1, 1, 1}, {3, 0, 1}};
  segment.ops = {update_of(3, 2, 0, 1), update_of(4, 3, 1, 1)};
  segment.live = {4};
  const Program& second = lowering.lower(segment);
  CHECK(second.uses[0].at == 0);
  CHECK(second.uses[0].learner == 1);
  CHECK(second.uses[1].at == 2);
  CHECK(lowering.slots() == 3);
}

TEST_CASE("lowering: a dead gradient needs no value and is nowhere in the program") {
  Lowering lowering;
  Segment segment;
  segment.gradients = {
      {0, 0, 0, 0, Fate::used}, {0, 1, 0, 0, Fate::open}, {0, 2, 0, 0, Fate::dead}};
  segment.uses = {{0, 0, 1}};
  segment.ops = {update_of(1, 0, 0, 1)};
  segment.live = {1};
  CHECK(lowering.lower(segment).uses.size() == 1);
  segment.clear();
  segment.first_gradient = 3;
  segment.gradients = {{1, 0, 1, 0, Fate::used}};
  segment.uses = {{3, 0, 1}};
  segment.dead = {1};
  segment.ops = {update_of(2, 1, 0, 1)};
  segment.live = {2};
  const Program& program = lowering.lower(segment);
  CHECK(program.uses.size() == 1);
  CHECK(program.steps[0].out == 0);  // the dead one no longer needs it
}

TEST_CASE("lowering: what the tape may not say is a broken invariant") {
  Segment segment;
  segment.gradients = {{0, 0, 0, 0, Fate::used}};
  segment.uses = {{0, 0, 1}};
  segment.live = {1};

  segment.ops = {update_of(2, 0, 0, 1)};
  CHECK_THROWS_WITH_AS(Lowering().lower(segment), doctest::Contains("in order"), BrokenInvariant);
  segment.ops = {evaluation_of(1), update_of(1, 0, 0, 1)};
  CHECK_THROWS_WITH_AS(Lowering().lower(segment), doctest::Contains("alive"), BrokenInvariant);

  segment.ops = {update_of(1, 0, 0, 1)};
  Lowering once;
  once.lower(segment);
  segment.ops = {update_of(2, 1, 0, 1)};
  segment.live = {2};
  segment.gradients.clear();
  segment.first_gradient = 1;  // gradient 0 is used again, and was not open
  CHECK_THROWS_WITH_AS(once.lower(segment), doctest::Contains("once"), BrokenInvariant);
}

/// Follows a whole run and fills the slots with the names of values: every step must find what the
/// tape means.  Returns the slots that were needed.
static Slot check_names(const Race& race, std::uint32_t limit) {
  TimingPlane plane(race, 0, true, nullptr, limit);
  Lowering lowering;
  std::vector<ValueId> held(1, 0);      // [slot]
  std::vector<ValueId> at_of_gradient;  // [gradient]
  for (End end = End::limit; end != End::finished;) {
    const Segment& segment = plane.next_segment();
    end = segment.end;
    for (const Gradient& gradient : segment.gradients) at_of_gradient.push_back(gradient.at);
    const Program& program = lowering.lower(segment);
    held.resize(lowering.slots());
    REQUIRE(program.uses.size() == segment.uses.size());
    auto op = segment.ops.begin();
    std::vector<ValueId> evaluations;  // of the tape
    for (const Op& each : segment.ops)
      if (each.kind == Op::Kind::evaluate) evaluations.push_back(each.base);
    for (const Step& step : program.steps) {
      for (std::uint32_t i = step.first; i < step.first + step.count; ++i) {
        if (step.kind == Step::Kind::evaluate)
          REQUIRE(held[program.evaluated[i].at] == evaluations[i]);
        else
          REQUIRE(held[program.uses[i].at] == at_of_gradient[segment.uses[i].gradient]);
      }
      if (step.kind == Step::Kind::evaluate) continue;
      while (op->kind != Op::Kind::update) ++op;
      REQUIRE(held[step.base] == op->base);
      REQUIRE(step.out != step.base);
      held[step.out] = (op++)->out;
    }
    REQUIRE(program.evaluated.size() == evaluations.size());
  }
  return lowering.slots();
}

TEST_CASE("lowering: a slot holds the value that the tape means, for every protocol and limit") {
  for (const auto& protocol : every_protocol()) {
    CAPTURE(protocol);
    for (const std::uint32_t limit : {1u, 50u, 4096u}) {
      Race race = race_of(8, protocol, R"({"updates": 2000})");
      race.evaluations.every_time = 0.7;
      // A value for each learner, those that wait for their evaluation, and the two of an update.
      CHECK(check_names(race, limit) <= 8 + Lowering::most_at_once + 2);
    }
  }
}

}  // namespace gradrace
