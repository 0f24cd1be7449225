#include "sim/engine/tape_writer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace gradrace::tape_writer_test {

TEST_CASE("tape_writer: values of several chains are dense in the order of writing") {
  for (const bool taped : {true, false}) {
    TapeWriter tape(taped);
    tape.begin();
    const GradientId a = tape.gradient(0, 0, 0, 0), b = tape.gradient(0, 1, 0, 0);
    const ValueId first = tape.update(0, 0, std::vector<Use>{{a, 0, 0.1}});
    const ValueId second = tape.update(0, 0, std::vector<Use>{{b, 0, 0.1}});
    const ValueId mean =
        tape.average(first, std::vector<Term>{{first, 0.5}, {second, 0.5}}, Summed::whole);
    const ValueId next = tape.update(second, 0, std::vector<Use>{});
    CHECK(std::vector<ValueId>{first, second, mean, next} == std::vector<ValueId>{1, 2, 3, 4});
    const Segment& segment = tape.cut(std::vector<ValueId>{mean, next}, End::limit);
    CHECK(segment.ops.size() == (taped ? 4 : 0));
    CHECK(segment.live == std::vector<ValueId>{3, 4});
    if (!taped) continue;
    CHECK(segment.ops[2].kind == Op::Kind::average);
    CHECK(segment.ops[2].summed == Summed::whole);
    CHECK(segment.ops[2].base == 1);
    CHECK(segment.ops[2].count == 2);
    CHECK(segment.terms[1].value == 2);
    CHECK(segment.gradients[b].fate == Fate::used);
  }
}

TEST_CASE("tape_writer: ranges are moved one by one, and a value is put together of them") {
  for (const bool taped : {true, false}) {
    TapeWriter tape(taped);
    tape.begin();
    const GradientId a = tape.gradient(0, 0, 0, 0);
    const ValueId first = tape.update(0, 0, std::vector<Use>{{a, 0, 0.1}}, 0);
    const ValueId whole = tape.assemble(std::vector<Term>{{first, 1}, {0, 1}});
    CHECK(whole == 2);
    tape.stay_open(a);
    const Segment& segment = tape.cut(std::vector<ValueId>{whole, first, 0}, End::limit);
    CHECK(segment.ops.size() == (taped ? 2 : 0));
    if (!taped) continue;
    CHECK(segment.ops[0].range == 0);
    CHECK(segment.ops[1].kind == Op::Kind::average);
    CHECK(segment.ops[1].summed == Summed::ranges);
    CHECK(segment.ops[1].range == no_range);
    CHECK(segment.terms[1].value == 0);
    CHECK(segment.gradients[a].fate == Fate::used);
    CHECK(segment.open == std::vector<GradientId>{a});
  }
}

TEST_CASE("tape_writer: an evaluation may have terms, which count as an average's do") {
  const std::vector<Term> halves{{0, 0.5}, {1, 0.5}};
  for (const bool taped : {true, false}) {
    TapeWriter tape(taped);
    tape.begin();
    tape.update(0, 0, std::vector<Use>{});
    const ValueId mean = tape.average(0, halves);
    tape.evaluate(mean, halves);
    tape.evaluate(mean);
    CHECK(tape.update(mean, 0, std::vector<Use>{}) == mean + 1);
    CHECK(tape.size() == (taped ? 4 : 0));
    const Segment& segment = tape.cut(std::vector<ValueId>{mean}, End::limit);
    CHECK(segment.ops.size() == (taped ? 5 : 0));
    if (!taped) continue;
    const Op &measured = segment.ops[2], &plain = segment.ops[3];
    CHECK(measured.kind == Op::Kind::evaluate);
    CHECK(measured.base == mean);
    CHECK(measured.first == 2);
    CHECK(measured.count == 2);
    CHECK(segment.terms[measured.first + 1].value == 1);
    CHECK(plain.count == 0);
  }
}

TEST_CASE("tape_writer: the weights of an average and of an evaluation add to 1, to rounding") {
  const auto check = [](const std::vector<double>& weights, bool good) {
    CAPTURE(weights.size());
    std::vector<Term> terms;
    for (const double weight : weights) terms.push_back({0, weight});
    for (const bool taped : {true, false}) {
      TapeWriter tape(taped);
      tape.begin();
      if (good) {
        CHECK_NOTHROW(tape.average(0, terms));
        CHECK_NOTHROW(tape.evaluate(0, terms));
      } else {
        CHECK_THROWS_WITH_AS(tape.average(0, terms), doctest::Contains("add to 1"),
                             BrokenInvariant);
        CHECK_THROWS_WITH_AS(tape.evaluate(0, terms), doctest::Contains("add to 1"),
                             BrokenInvariant);
      }
    }
  };
  for (const std::size_t P : {1u, 3u, 10u, 49u, 1000u, 10'000u})
    check(std::vector<double>(P, 1.0 / static_cast<double>(P)), true);
  check({2.5, -1.75, 0.25}, true);
  check({0.5, 0.5 + 1.9e-15}, true);
  check({0.5, 0.5 + 2.3e-15}, false);
  check({0.5, 0.5 - 2.3e-15}, false);
  check({0.3, 0.3, 0.3}, false);
  check({std::nan(""), 1}, false);
}

TEST_CASE("tape_writer: without a tape the terms of an average may be left out") {
  CHECK(TapeWriter(false).average(0, {}) == 1);
  CHECK_THROWS_AS(TapeWriter(true).average(0, {}), BrokenInvariant);
}

TEST_CASE("tape_writer: gradients end in the segment of their dispatch, or later") {
  TapeWriter tape(true);
  tape.begin();
  for (std::uint32_t learner = 0; learner < 4; ++learner) tape.gradient(0, learner, 0, 0);
  tape.die(1);
  CHECK(tape.size() == 4);
  CHECK(tape.cut(std::vector<ValueId>{0}, End::limit).gradients[1].fate == Fate::dead);
  tape.begin();
  CHECK(tape.size() == 0);
  CHECK(tape.gradient(0, 1, 1, 0) == 4);
  tape.update(0, 0, std::vector<Use>{{0, 0, 1}, {4, 0, 1}});
  tape.die(2);
  const Segment& segment = tape.cut(std::vector<ValueId>{1}, End::finished);
  CHECK(segment.first_gradient == 4);
  CHECK(segment.gradients[0].fate == Fate::used);
  CHECK(segment.dead == std::vector<GradientId>{2});
  CHECK(tape.size() == 3);
}

TEST_CASE("tape_writer: a learner's memories are values, each read by its next message, or live") {
  TapeWriter tape(true);
  tape.begin();
  for (std::uint32_t learner = 0; learner < 4; ++learner) tape.gradient(0, learner, 0, 0);
  tape.send(2, true, {2, false, 1});
  tape.send(1, false, {1, false, 1});
  const ValueId next = tape.update(0, 0, std::vector<Use>{{2, 0, 1}, {1, 0, 1}});
  tape.send(0, true, {0, true, 0.5});
  tape.die(0);
  CHECK(tape.size() == 4 + 2 + 3);
  const Segment& first = tape.cut(std::vector<ValueId>{next}, End::limit);
  REQUIRE(first.ops.size() == 4);
  const auto is = [](const Op& op, ValueId out, ValueId base, std::uint32_t number) {
    return op.kind == Op::Kind::send && op.out == out && op.base == base && op.first == number &&
           op.count == 1;
  };
  CHECK(is(first.ops[0], 1, no_value, 0));
  CHECK(is(first.ops[1], no_value, no_value, 1));
  CHECK(next == 2);
  CHECK(is(first.ops[3], 3, no_value, 2));
  CHECK(first.sent[2].gradient == 0);
  CHECK(first.sent[2].lost);
  CHECK(first.sent[2].weight == 0.5);
  CHECK(first.gradients[0].fate == Fate::dead);
  CHECK(first.gradients[3].fate == Fate::open);
  CHECK(first.live == std::vector<ValueId>{2, 3, 1});  // memories in the order of learners
  tape.begin();
  tape.gradient(next, 2, 1, 0);
  tape.send(2, true, {4, false, 1});
  const Segment& second = tape.cut(std::vector<ValueId>{next}, End::finished);
  CHECK(is(second.ops[0], 4, 1, 0));
  CHECK(second.live == std::vector<ValueId>{2, 3, 4});
}

TEST_CASE("tape_writer: nothing is sent without a tape") {
  TapeWriter tape(false);
  tape.begin();
  tape.gradient(0, 0, 0, 0);
  tape.send(0, true, {0, false, 1});
  CHECK(tape.size() == 1);
  CHECK(tape.cut({}, End::limit).live.empty());
}

}  // namespace gradrace::tape_writer_test
