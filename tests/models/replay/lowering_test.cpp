#include "models/replay/lowering.h"

#include <doctest/doctest.h>

#include <vector>

#include "sim/check.h"
#include "tests/support/whole_tape.h"

namespace gradrace::lowering_test {

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
  CHECK(lowering.live() == std::vector<Slot>{1});
  CHECK(lowering.slots() == 2);
}

TEST_CASE("lowering: a gradient is computed where it is sent, and memories take turns in slots") {
  for (const Order order : {Order::late, Order::early}) {
    Lowering lowering(order);
    Segment segment;
    // Learner 0 sends what is used later; learner 1's is used at once, learner 2's is lost.
    segment.gradients = {
        {0, 0, 0, 0, Fate::open}, {0, 1, 0, 0, Fate::used}, {0, 2, 0, 0, Fate::dead}};
    segment.sent = {{0, false, 1}, {1, false, 0.5}, {2, true, 1}};
    segment.uses = {{1, 0, 0.25}};
    segment.ops = {{Op::Kind::send, 0, 1, no_value, 0, 1},
                   {Op::Kind::send, 0, no_value, no_value, 1, 1},
                   update_of(2, 0, 0, 1),
                   {Op::Kind::send, 0, 3, no_value, 2, 1}};
    segment.live = {2, 1, 3};
    const Program& first = lowering.lower(segment);
    REQUIRE(first.steps.size() == 4);
    CHECK(is(first.steps[0], {Step::Kind::send, 0, 1, no_slot, 0, 1}));
    CHECK(is(first.steps[1], {Step::Kind::send, 0, no_slot, no_slot, 1, 1}));
    CHECK(is(first.steps[2], {Step::Kind::update, 0, 2, 0, 0, 1}));
    CHECK(is(first.steps[3], {Step::Kind::send, 0, 0, no_slot, 2, 1}));  // where it was computed
    CHECK(first.sent[0].place == 0);
    CHECK(first.sent[1].place == 1);
    CHECK(first.sent[1].weight == 0.5);
    CHECK(first.sent[2].place == 1);  // learner 1's has been used
    CHECK(first.sent[2].at == 0);
    CHECK_FALSE(first.sent[2].again);
    CHECK(first.uses[0].computed);
    CHECK(first.uses[0].message);
    CHECK(first.computed == 3);
    CHECK(lowering.live() == std::vector<Slot>{2, 1, 0});

    segment.clear();
    segment.first_gradient = 3;
    segment.gradients = {{2, 2, 1, 0, Fate::open}};
    segment.uses = {{0, 1, 0.25}};
    segment.ops = {update_of(4, 2, 0, 1)};
    segment.live = {4, 1, 3};
    const Program& second = lowering.lower(segment);
    REQUIRE(second.uses.size() == 1);
    CHECK(second.uses[0].place == 0);
    CHECK(second.uses[0].message);
    CHECK(second.computed == 0);

    // It ends in a later segment than it began.
    segment.clear();
    segment.first_gradient = 4;
    segment.sent = {{3, true, 1}};
    segment.ops = {{Op::Kind::send, 0, 5, 3, 0, 1}};
    segment.dead = {3};
    segment.live = {4, 1, 5};
    const Program& third = lowering.lower(segment);
    REQUIRE(third.steps.size() == 1);
    CHECK(third.steps[0].base == 0);
    CHECK(third.steps[0].out != 0);
    CHECK(third.sent[0].at == 2);
    CHECK(third.computed == 1);
    CHECK(lowering.live()[2] == third.steps[0].out);
    CHECK(lowering.slots() == 4);
    CHECK(lowering.places() == 2);
  }
}

TEST_CASE("lowering: what is sent again, or never named after it, is found out") {
  Segment segment;
  segment.gradients = {{0, 0, 0, 0, Fate::used}};
  segment.uses = {{0, 0, 1}};
  segment.sent = {{0, false, 1}};
  segment.ops = {update_of(1, 0, 0, 1), {Op::Kind::send, 0, no_value, no_value, 0, 1}};
  segment.live = {1};
  CHECK_THROWS_AS(Lowering().lower(segment), BrokenInvariant);  // after its use
  segment.ops = {{Op::Kind::send, 0, 1, no_value, 0, 1}, update_of(2, 0, 0, 1)};
  segment.live = {2};
  CHECK_THROWS_AS(Lowering().lower(segment), BrokenInvariant);
  segment.live = {2, 1};
  CHECK_NOTHROW(Lowering().lower(segment));
  segment.sent.push_back({0, false, 1});
  CHECK_THROWS_AS(Lowering().lower(segment), BrokenInvariant);
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

TEST_CASE("lowering: a dead gradient needs no value and is no_slot in the program") {
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

TEST_CASE("lowering: the terms of a disagreement go once it is measured, its value waits") {
  constexpr std::uint32_t P = 50;
  WholeTape tape;
  std::vector<ValueId> values(P, 0);
  for (std::uint32_t n = 0; n < 40; ++n) {
    std::vector<Term> terms;
    for (std::uint32_t l = 0; l < P; ++l) {
      values[l] = tape.update(values[l], {{tape.gradient(values[l], l, n), 0, 1}});
      terms.push_back({values[l], 1.0 / P});
    }
    tape.evaluate(tape.average(values[0], terms), terms);
  }
  const std::vector<Segment> segments = tape.cut(1'000'000, values);
  REQUIRE(segments.size() == 1);
  for (const Order order : {Order::late, Order::early}) {
    Lowering lowering(order);
    lowering.lower(segments.front());
    CHECK(lowering.slots() <= P + Lowering::most_at_once + 1);
  }
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
  segment.ops = {update_of(1, 0, 0, 1), evaluation_of(1)};
  segment.terms = {{0, 1}};
  CHECK_THROWS_WITH_AS(Lowering().lower(segment), doctest::Contains("every term"), BrokenInvariant);
  segment.ops.back().count = 1, segment.ops.back().first = 1;
  CHECK_THROWS_WITH_AS(Lowering().lower(segment), doctest::Contains("in the order"),
                       BrokenInvariant);
  segment.terms.clear();

  segment.ops = {update_of(1, 0, 0, 1)};
  Lowering once;
  once.lower(segment);
  segment.ops = {update_of(2, 1, 0, 1)};
  segment.live = {2};
  segment.gradients.clear();
  segment.first_gradient = 1;  // gradient 0 is used again, and was not open
  CHECK_THROWS_WITH_AS(once.lower(segment), doctest::Contains("open"), BrokenInvariant);
}

TEST_CASE("lowering: a gradient that is used again keeps its place, and its value is let go") {
  Lowering lowering;
  Segment segment;
  segment.gradients = {{0, 0, 0, 0, Fate::open}, {0, 1, 0, 0, Fate::used}};
  segment.uses = {{0, 0, 1}, {1, 0, 2}, {0, 1, 3}};
  segment.ops = {update_of(1, 0, 0, 2), update_of(2, 1, 2, 1)};
  segment.live = {2};
  const Program& first = lowering.lower(segment);
  REQUIRE(first.uses.size() == 3);
  CHECK(first.computed == 2);
  CHECK(!first.uses[0].computed);
  CHECK(!first.uses[1].computed);
  CHECK(first.uses[2].computed);
  CHECK(first.uses[1].place != first.uses[0].place);
  CHECK(first.uses[2].place == first.uses[0].place);
  CHECK(lowering.slots() == 2);  // value 0 went when its gradients were there
  const std::uint32_t held = first.uses[0].place;

  segment.clear();
  segment.first_gradient = 2;
  segment.gradients = {{2, 1, 1, 0, Fate::used}, {2, 1, 2, 0, Fate::used}};
  segment.uses = {{2, 0, 1}, {0, 2, 1}, {3, 0, 1}};
  segment.ops = {update_of(3, 2, 0, 1), update_of(4, 3, 1, 2)};
  segment.live = {4};
  const Program& second = lowering.lower(segment);
  CHECK(second.computed == 2);
  CHECK(second.uses[0].place != held);
  CHECK(second.uses[1].place == held);
  CHECK(second.uses[1].computed);
  CHECK(second.uses[2].place == held);  // free after its last use
  CHECK(lowering.places() == 2);
}

TEST_CASE("lowering: early, a gradient is computed before its value is moved, and waits") {
  Lowering lowering(Order::early);
  Segment segment;
  // Learner 1's gradient is used with the second update; learner 2's stays open.
  segment.gradients = {{0, 0, 0, 0, Fate::used},
                       {0, 1, 0, 0, Fate::used},
                       {0, 2, 0, 0, Fate::open},
                       {1, 0, 1, 0, Fate::used}};
  segment.uses = {{0, 0, 1}, {3, 0, 1}, {1, 1, 1}};
  segment.ops = {update_of(1, 0, 0, 1), update_of(2, 1, 1, 2)};
  segment.live = {2};
  const Program& program = lowering.lower(segment);
  REQUIRE(program.steps.size() == 5);
  const Slot of_1 = program.steps[2].out, of_2 = program.steps[4].out;
  CHECK(is(program.steps[0], {Step::Kind::compute, 0, 0, 0, 0, 1}));
  CHECK(is(program.steps[1], {Step::Kind::compute, 0, 0, 0, 2, 1}));
  CHECK(is(program.steps[2], {Step::Kind::update, 0, of_1, 0, 0, 1}));
  CHECK(is(program.steps[3], {Step::Kind::compute, 0, 0, of_1, 1, 1}));
  CHECK(is(program.steps[4], {Step::Kind::update, 0, of_2, of_1, 1, 2}));
  CHECK(!program.steps[2].stored);
  CHECK(program.steps[4].stored);
  CHECK(program.uses[2].place != program.uses[0].place);
  CHECK(program.uses[1].place == program.uses[0].place);
  CHECK(lowering.places() == 2);

  segment.clear();
  segment.first_gradient = 4;
  segment.gradients = {{2, 0, 2, 0, Fate::used}};
  segment.uses = {{4, 0, 1}, {2, 2, 1}};
  segment.ops = {update_of(3, 2, 0, 2)};
  segment.live = {3};
  const Program& next = lowering.lower(segment);
  REQUIRE(next.steps.size() == 3);
  // The value that is moved is the last at which gradients are computed.
  CHECK(is(next.steps[0], {Step::Kind::compute, 0, 0, 0, 1, 1}));
  CHECK(is(next.steps[1], {Step::Kind::compute, 0, 0, of_2, 0, 1}));
  CHECK(is(next.steps[2], {Step::Kind::update, 0, lowering.live()[0], of_2, 0, 2}));
  CHECK(next.steps[2].stored);
}

}  // namespace gradrace::lowering_test
