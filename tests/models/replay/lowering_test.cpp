#include "models/replay/lowering.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "sim/check.h"
#include "sim/engine/timing_plane.h"
#include "tests/support/race_text.h"
#include "tests/support/whole_tape.h"

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
  CHECK(lowering.live() == std::vector<Slot>{1});
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

namespace {

/// Does what programs say with the names of values and gradients in place of numbers: every step
/// must find what the tape means.  With the early order it moves one state along, and looks into
/// slots for what was stored alone.
class Follower {
 public:
  Follower(Order order, bool keep)
      : lowering_(order, keep), early_(order == Order::early), keep_(keep) {}

  void follow(const Segment& segment) {
    for (const Gradient& gradient : segment.gradients) at_of_.push_back(gradient.at);
    const Program& program = lowering_.lower(segment);
    held_.resize(lowering_.slots(), nothing);
    placed_.resize(lowering_.places(), nothing);
    REQUIRE(program.uses.size() == segment.uses.size());
    REQUIRE(program.terms.size() == segment.terms.size());
    std::vector<ValueId> evaluated;
    for (const Op& op : segment.ops)
      if (op.kind == Op::Kind::evaluate) evaluated.push_back(op.base);
    REQUIRE(program.evaluated.size() == evaluated.size());
    at_hand_ = no_slot;
    auto op = segment.ops.begin();
    for (const Step& step : program.steps) {
      if (step.kind == Step::Kind::compute) {
        REQUIRE(early_);
        compute(segment.uses[step.first].gradient, program.uses[step.first], step.base);
      } else if (step.kind == Step::Kind::evaluate) {
        for (std::uint32_t i = step.first; i < step.first + step.count; ++i)
          REQUIRE(held_[program.evaluated[i].at] == evaluated[i]);
        at_hand_ = no_slot;
      } else {
        while (op->kind == Op::Kind::evaluate) ++op;
        write(segment, program, step, *op++);
      }
    }
    std::vector<ValueId> live;
    for (const Slot slot : lowering_.live()) live.push_back(held_[slot]);
    REQUIRE(live == segment.live);
  }

  const Lowering& lowering() const { return lowering_; }
  std::size_t computed() const { return computed_.size(); }
  std::uint64_t loads() const { return loads_; }

 private:
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};

  ValueId value_in(Slot slot) {
    if (!early_) return held_[slot];
    if (at_hand_ != slot) state_ = held_[slot], ++loads_;
    at_hand_ = slot;
    return state_;
  }

  void compute(GradientId gradient, const SlotUse& use, Slot at) {
    REQUIRE(value_in(at) == at_of_[gradient]);
    placed_[use.place] = gradient;
    REQUIRE(computed_.insert(gradient).second);
  }

  void write(const Segment& segment, const Program& program, const Step& step, const Op& op) {
    REQUIRE((step.kind == Step::Kind::update) == (op.kind == Op::Kind::update));
    REQUIRE(step.out != step.base);
    REQUIRE(step.whole == op.whole);
    REQUIRE(step.count == op.count);
    for (std::uint32_t i = step.first; i < step.first + step.count; ++i) {
      if (step.kind == Step::Kind::update)
        use(segment.uses[i].gradient, program.uses[i], step.base);
      else
        REQUIRE(held_[program.terms[i].at] == segment.terms[i].value);
      if (step.kind == Step::Kind::average) REQUIRE(program.terms[i].at != step.out);
    }
    if (step.kind == Step::Kind::average) at_hand_ = no_slot;
    REQUIRE(value_in(step.base) == op.base);
    state_ = op.out, at_hand_ = step.kind == Step::Kind::update ? step.out : no_slot;
    if (!early_ || step.stored || step.kind == Step::Kind::average) held_[step.out] = op.out;
  }

  void use(GradientId gradient, const SlotUse& use, Slot base) {
    if (!use.computed) compute(gradient, use, use.at);
    REQUIRE(placed_[use.place] == gradient);
    const bool moved = early_ && use.at == base;  // looked at in the state that is moved
    if (keep_) REQUIRE((moved ? value_in(base) : held_[use.at]) == at_of_[gradient]);
  }

  Lowering lowering_;
  bool early_, keep_;
  std::vector<ValueId> held_ = {0};  // [slot]
  std::vector<GradientId> placed_;   // [place]
  std::vector<ValueId> at_of_;       // [gradient]
  std::set<GradientId> computed_;
  Slot at_hand_ = no_slot;  // whose value the state is
  ValueId state_ = nothing;
  std::uint64_t loads_ = 0;  // of the state from a slot
};

/// Three chains whose states are updated by gradients of anybody, some old and some used before,
/// averaged, evaluated and left behind.
WholeTape random_tape(unsigned seed, std::vector<ValueId>& chains, std::size_t& used) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  WholeTape tape;
  chains = {0, 0, 0};
  std::vector<GradientId> known;
  std::set<GradientId> all;
  std::vector<ValueId> values = {0};
  for (std::uint32_t i = 0; i < 400; ++i) {
    ValueId& mine = chains[below(3)];
    const ValueId any = values[values.size() - 1 - below(std::min<std::size_t>(5, values.size()))];
    known.push_back(tape.gradient(below(4) > 0 ? mine : any, below(8), i));
    switch (below(6)) {
      case 0:
        tape.evaluate(any);
        break;
      case 1:
        mine = tape.average(below(2) > 0 ? mine : any, {{chains[0], 0.5}, {any, 0.25}}, below(2));
        values.push_back(mine);
        break;
      case 2:
        break;
      default: {
        std::vector<Use> uses;
        for (std::uint32_t n = below(4); n > 0; --n) {
          uses.push_back(
              {known[known.size() - 1 - below(std::min<std::size_t>(9, known.size()))], 0, 1});
          all.insert(uses.back().gradient);
        }
        mine = tape.update(mine, uses);
        values.push_back(mine);
      }
    }
  }
  used = all.size();
  return tape;
}

}  // namespace

static Follower follow(const Race& race, std::uint32_t limit, Order order, bool keep) {
  TimingPlane plane(race, 0, true, nullptr, limit);
  Follower follower(order, keep);
  for (End end = End::limit; end != End::finished;) {
    const Segment& segment = plane.next_segment();
    end = segment.end;
    follower.follow(segment);
  }
  return follower;
}

TEST_CASE("lowering: a slot holds the value that the tape means, for every protocol and limit") {
  for (const auto& protocol : every_server_protocol()) {
    CAPTURE(protocol);
    Race race = race_of(8, protocol, R"({"updates": 2000})");
    race.evaluations.every_time = 0.7;
    for (const std::uint32_t limit : {1u, 50u, 4096u}) {
      for (const bool keep : {false, true}) {
        const Follower late = follow(race, limit, Order::late, keep);
        const Follower early = follow(race, limit, Order::early, keep);
        // A value for each learner, those that wait for an evaluation, and the two of an update.
        CHECK(late.lowering().slots() <= 8 + Lowering::most_at_once + 2);
        CHECK(early.lowering().slots() <= 8 + Lowering::most_at_once + 2);
        CHECK(late.lowering().places() == 1);
      }
    }
  }
}

TEST_CASE("lowering: early, a long stage of async loads once and needs a place for each learner") {
  const Race race = race_of(8, R"({"kind": "async"})", R"({"updates": 4000})");
  for (const bool keep : {false, true}) {
    const Follower follower = follow(race, 1'000'000, Order::early, keep);
    CHECK(follower.loads() == 1);
    CHECK(follower.lowering().places() == 8);
  }
}

TEST_CASE("lowering: chains, averages and gradients used again mean the same for any limit") {
  for (unsigned seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    std::vector<ValueId> chains;
    std::size_t used = 0;
    const WholeTape tape = random_tape(seed, chains, used);
    for (const std::size_t limit : {1, 2, 7, 4096}) {
      CAPTURE(limit);
      for (const Order order : {Order::late, Order::early}) {
        for (const bool keep : {false, true}) {
          Follower follower(order, keep);
          for (const Segment& segment : tape.cut(limit, chains)) follower.follow(segment);
          CHECK(follower.computed() == used);
        }
      }
    }
  }
}

}  // namespace gradrace
