#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "models/gpu/stages.h"
#include "models/replay/lowering.h"
#include "sim/engine/timing_plane.h"
#include "tests/support/race_text.h"
#include "tests/support/whole_tape.h"

namespace gradrace::followed_programs_test {

namespace {

/// Does what programs say with the names of values and gradients in place of numbers: every step
/// must find what the tape means.  With the early order it moves one state along, and looks into
/// slots for what was stored alone.  in_stages: in the order of Stages, the steps of states of
/// each stage backwards.
class Follower {
 public:
  Follower(Order order, bool keep, bool in_stages = false)
      : lowering_(order, keep),
        early_(order != Order::late),
        for_a_use_(order == Order::for_a_use),
        keep_(keep),
        in_stages_(in_stages) {}

  void follow(const Segment& segment) {
    for (const Gradient& gradient : segment.gradients) at_of_.push_back(gradient.at);
    const Program& program = lowering_.lower(segment);
    held_.resize(lowering_.slots(), nothing);
    placed_.resize(lowering_.places(), nothing);
    made_for_.assign(lowering_.places(), nothing);
    REQUIRE(program.uses.size() == segment.uses.size());
    REQUIRE(program.terms.size() == segment.terms.size());
    std::vector<Op> evaluated;
    for (const Op& op : segment.ops)
      if (op.kind == Op::Kind::evaluate) evaluated.push_back(op);
    REQUIRE(program.evaluated.size() == evaluated.size());
    std::ptrdiff_t measured = 0;
    at_hand_ = no_slot;
    std::map<const Step*, const Op*> written;
    auto op = segment.ops.begin();
    for (const Step& step : program.steps) {
      if (step.kind != Step::Kind::update && step.kind != Step::Kind::average) continue;
      while (op->kind == Op::Kind::evaluate) ++op;
      written[&step] = &*op++;
    }
    for (const Step* const each : ordered(program)) {
      const Step& step = *each;
      if (step.kind == Step::Kind::compute) {
        REQUIRE(early_);
        compute(segment.uses[step.first].gradient, program.uses[step.first], step.base);
        made_for_[program.uses[step.first].place] = step.first;
      } else if (step.kind == Step::Kind::measure) {
        measure(segment, program, step, evaluated[step.first]);
        ++measured;
        at_hand_ = no_slot;
      } else if (step.kind == Step::Kind::evaluate) {
        for (std::uint32_t i = step.first; i < step.first + step.count; ++i)
          REQUIRE(held_[program.evaluated[i].at] == evaluated[i].base);
        at_hand_ = no_slot;
      } else {
        write(segment, program, step, *written.at(&step));
      }
    }
    REQUIRE(measured ==
            std::ranges::count_if(evaluated, [](auto& each) { return each.count > 0; }));
    std::vector<ValueId> live;
    for (const Slot slot : lowering_.live()) live.push_back(held_[slot]);
    REQUIRE(live == segment.live);
  }

  const Lowering& lowering() const { return lowering_; }
  std::size_t computed() const { return computed_.size(); }
  std::uint64_t loads() const { return loads_; }
  std::size_t most_of_states() const { return most_of_states_; }

 private:
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};

  std::vector<const Step*> ordered(const Program& program) {
    std::vector<const Step*> steps;
    if (!in_stages_) {
      for (const Step& step : program.steps) steps.push_back(&step);
      return steps;
    }
    Stages stages;
    stages.split(program);
    for (std::size_t stage = 0; stage < stages.count(); ++stage) {
      const auto moves = stages.moves(stage), of_states = stages.of_states(stage);
      steps.insert(steps.end(), moves.begin(), moves.end());
      steps.insert(steps.end(), of_states.rbegin(), of_states.rend());
      if (const Step* const evaluates = stages.evaluates(stage)) steps.push_back(evaluates);
      most_of_states_ = std::max(most_of_states_, of_states.size());
    }
    REQUIRE(steps.size() == program.steps.size());
    return steps;
  }

  ValueId value_in(Slot slot) {
    if (!early_) return held_[slot];
    if (at_hand_ != slot) state_ = held_[slot], ++loads_;
    at_hand_ = slot;
    return state_;
  }

  void compute(GradientId gradient, const SlotUse& use, Slot at) {
    REQUIRE(value_in(at) == at_of_[gradient]);
    placed_[use.place] = gradient;
    REQUIRE((computed_.insert(gradient).second || for_a_use_));
  }

  void measure(const Segment& segment, const Program& program, const Step& step, const Op& op) {
    const SlotEvaluation& evaluation = program.evaluated[step.first];
    REQUIRE(step.base == evaluation.at);
    REQUIRE(held_[step.base] == op.base);
    REQUIRE(evaluation.first_term == op.first);
    REQUIRE(evaluation.terms == op.count);
    for (std::uint32_t i = op.first; i < op.first + op.count; ++i) {
      REQUIRE(held_[program.terms[i].at] == segment.terms[i].value);
      REQUIRE(program.terms[i].weight == segment.terms[i].weight);
    }
  }

  void write(const Segment& segment, const Program& program, const Step& step, const Op& op) {
    REQUIRE((step.kind == Step::Kind::update) == (op.kind == Op::Kind::update));
    REQUIRE(step.out != step.base);
    REQUIRE(step.summed == op.summed);
    REQUIRE(step.count == op.count);
    for (std::uint32_t i = step.first; i < step.first + step.count; ++i) {
      if (step.kind == Step::Kind::update)
        use(segment.uses[i].gradient, program.uses[i], step.base, i);
      else
        REQUIRE(held_[program.terms[i].at] == segment.terms[i].value);
      if (step.kind == Step::Kind::average) REQUIRE(program.terms[i].at != step.out);
    }
    if (step.kind == Step::Kind::average) at_hand_ = no_slot;
    REQUIRE(value_in(step.base) == op.base);
    state_ = op.out, at_hand_ = step.kind == Step::Kind::update ? step.out : no_slot;
    if (!early_ || step.stored || step.kind == Step::Kind::average) held_[step.out] = op.out;
  }

  void use(GradientId gradient, const SlotUse& use, Slot base, std::uint32_t number) {
    if (!use.computed) compute(gradient, use, use.at);
    REQUIRE(placed_[use.place] == gradient);
    if (for_a_use_) REQUIRE(made_for_[use.place] == number);
    const bool moved = early_ && use.at == base;  // looked at in the state that is moved
    if (keep_) REQUIRE((moved ? value_in(base) : held_[use.at]) == at_of_[gradient]);
  }

  Lowering lowering_;
  bool early_, for_a_use_, keep_, in_stages_;
  std::vector<ValueId> held_ = {0};      // [slot]
  std::vector<GradientId> placed_;       // [place]
  std::vector<std::uint32_t> made_for_;  // [place]: use of this program for which it was computed
  std::vector<ValueId> at_of_;           // [gradient]
  std::set<GradientId> computed_;
  Slot at_hand_ = no_slot;  // whose value the state is
  ValueId state_ = nothing;
  std::uint64_t loads_ = 0;         // of the state from a slot
  std::size_t most_of_states_ = 0;  // steps of a stage
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
        if (below(2) > 0)
          tape.evaluate(any);
        else
          tape.evaluate(any, {{chains[0], 0.5}, {chains[2], 0.25}, {any, 0.25}});
        break;
      case 1:
        mine = tape.average(below(2) > 0 ? mine : any, {{chains[0], 0.75}, {any, 0.25}},
                            below(2) > 0 ? Summed::whole : Summed::parameters);
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

static Follower follow(const Race& race, std::uint32_t limit, Order order, bool keep,
                       bool in_stages = false) {
  TimingPlane plane(race, 0, true, nullptr, limit);
  Follower follower(order, keep, in_stages);
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

TEST_CASE("lowering: averages that do not need each other are one stage") {
  const Race race = race_of(8, R"({"kind": "d-psgd", "graph": "ring"})", R"({"updates": 400})");
  for (const Order order : {Order::late, Order::early, Order::for_a_use})
    CHECK(follow(race, 1'000'000, order, false, true).most_of_states() == 3);
}

TEST_CASE("lowering: chains, averages and gradients used again mean the same for any limit") {
  for (unsigned seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    std::vector<ValueId> chains;
    std::size_t used = 0;
    const WholeTape tape = random_tape(seed, chains, used);
    for (const std::size_t limit : {1u, 2u, 7u, 4096u}) {
      CAPTURE(limit);
      for (const Order order : {Order::late, Order::early, Order::for_a_use}) {
        for (const bool keep : {false, true}) {
          for (const bool in_stages : {false, true}) {
            Follower follower(order, keep, in_stages);
            for (const Segment& segment : tape.cut(limit, chains)) follower.follow(segment);
            CHECK(follower.computed() == used);
          }
        }
      }
    }
  }
}

}  // namespace gradrace::followed_programs_test
