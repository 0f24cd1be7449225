#include "models/gpu/in_place.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "sim/engine/timing_plane.h"
#include "tests/support/race_text.h"

namespace gradrace {

namespace {

using Kind = Instruction::Kind;

Op update_of(ValueId out, ValueId base, std::uint32_t first, std::uint32_t count) {
  return {Op::Kind::update, 0, out, base, first, count};
}

Instruction load(Slot slot) { return {Kind::load, 0, slot, 0, 0}; }
Instruction store(Slot slot) { return {Kind::store, 0, slot, 0, 0}; }
Instruction factor(std::uint32_t use) { return {Kind::factor, 0, 0, use, 1}; }
Instruction update(std::uint32_t first, std::uint32_t count) {
  return {Kind::update, 0, 0, first, count};
}

/// Interprets the programs of a whole run with the names of values in place of numbers: what is
/// done must be what the tape means.
class Interpreter {
 public:
  Interpreter(const Race& race, std::uint32_t limit, bool keep = false)
      : plane_(race, 0, true, nullptr, limit), keep_(keep) {}

  void run() {
    for (End end = End::limit; end != End::finished;) {
      const Segment& segment = plane_.next_segment();
      end = segment.end;
      for (const Gradient& gradient : segment.gradients) at_of_.push_back(gradient.at);
      const Program& program = lowering_.lower(segment);
      replay(segment, program, in_place_.lower(program, lowering_, keep_));
    }
  }

  std::uint32_t places() const { return in_place_.places(); }
  std::uint64_t loads() const { return loads_; }
  std::uint64_t updates() const { return updates_; }

 private:
  static constexpr ValueId nothing = ~ValueId{0};

  void replay(const Segment& segment, const Program& program, const InPlaceProgram& in_place) {
    slots_.resize(lowering_.slots(), nothing);
    std::vector<ValueId> written;  // by each update of the tape
    for (const Op& op : segment.ops)
      if (op.kind == Op::Kind::update) written.push_back(op.out);
    std::vector<ValueId> evaluated;
    for (const Op& op : segment.ops)
      if (op.kind == Op::Kind::evaluate) evaluated.push_back(op.base);
    auto next = written.begin();
    std::size_t stage = 0;
    const auto replay_stage = [&] {
      const std::size_t first = in_place.stages[stage];
      const std::size_t last =
          ++stage < in_place.stages.size() ? in_place.stages[stage] : in_place.instructions.size();
      at_hand_ = nothing;
      for (std::size_t i = first; i < last; ++i)
        replay(segment, in_place, in_place.instructions[i], next);
    };
    for (const Step& step : program.steps) {
      if (step.kind != Step::Kind::evaluate) continue;
      replay_stage();
      for (std::uint32_t i = step.first; i < step.first + step.count; ++i)
        REQUIRE(slots_[program.evaluated[i].at] == evaluated[i]);
    }
    replay_stage();
    REQUIRE(stage == in_place.stages.size());
    REQUIRE(next == written.end());
    REQUIRE(factors_.empty());
  }

  void replay(const Segment& segment, const InPlaceProgram& in_place, const Instruction& what,
              std::vector<ValueId>::iterator& next) {
    switch (what.kind) {
      case Kind::load:
        at_hand_ = slots_[what.slot];
        REQUIRE(at_hand_ != nothing);
        ++loads_;
        return;
      case Kind::factor:
        REQUIRE(at_hand_ == at_of_[segment.uses[what.first].gradient]);
        REQUIRE(factors_.emplace(in_place.places[what.first], what.first).second);
        return;
      case Kind::update:
        for (std::uint32_t use = what.first; use < what.first + what.count; ++use) {
          REQUIRE(factors_.at(in_place.places[use]) == use);
          factors_.erase(in_place.places[use]);
          const Slot at = in_place.at[use];
          const ValueId found = at == kernels::FactoredUse::moved ? at_hand_ : slots_[at];
          if (keep_) REQUIRE(found == at_of_[segment.uses[use].gradient]);
        }
        REQUIRE(at_hand_ + 1 == *next);  // all protocols so far have one chain
        at_hand_ = *next++;
        ++updates_;
        return;
      case Kind::store:
        slots_[what.slot] = at_hand_;
        return;
    }
  }

  TimingPlane plane_;
  bool keep_;
  Lowering lowering_;
  InPlace in_place_;
  std::vector<ValueId> at_of_;                      // [gradient]
  std::vector<ValueId> slots_ = {0};                // what is stored there
  std::map<std::uint32_t, std::uint32_t> factors_;  // place: use
  ValueId at_hand_ = nothing;
  std::uint64_t loads_ = 0, updates_ = 0;
};

}  // namespace

TEST_CASE("in_place: a gradient is computed as soon as its value is there, and waits") {
  Lowering lowering;
  InPlace in_place;
  Segment segment;
  // Learner 1 computes at value 0 until the third update; learner 2's gradient stays open.
  segment.gradients = {{0, 0, 0, 0, Fate::used}, {0, 1, 0, 0, Fate::used},
                       {0, 2, 0, 0, Fate::dead}, {1, 0, 1, 0, Fate::used},
                       {1, 2, 1, 0, Fate::open}, {2, 0, 2, 0, Fate::open}};
  segment.uses = {{0, 0, 1}, {3, 0, 1}, {1, 2, 1}};
  segment.ops = {update_of(1, 0, 0, 1), {Op::Kind::evaluate, 0, 1, 1, 0, 0}, update_of(2, 1, 1, 2)};
  segment.live = {2};
  const Program& program = lowering.lower(segment);
  const Slot of_1 = program.steps[0].out, of_2 = program.steps[1].out;
  const InPlaceProgram& first = in_place.lower(program, lowering);
  CHECK(first.instructions == std::vector<Instruction>{load(0), factor(0), factor(2), update(0, 1),
                                                       store(of_1), factor(1), update(1, 2),
                                                       store(of_2)});
  CHECK(first.stages == std::vector<std::size_t>{0, 8});
  CHECK(first.places[0] != first.places[2]);
  CHECK(in_place.places() == 2);

  segment.clear();
  segment.first_gradient = 6;
  segment.uses = {{4, 1, 1}, {5, 0, 1}};
  segment.ops = {update_of(3, 2, 0, 2)};
  segment.live = {3};
  const Program& next = lowering.lower(segment);
  const InPlaceProgram& second = in_place.lower(next, lowering);
  // The value that is moved is loaded last.
  CHECK(second.instructions == std::vector<Instruction>{load(of_1), factor(0), load(of_2),
                                                        factor(1), update(0, 2),
                                                        store(lowering.live()[0])});
}

TEST_CASE("in_place: instructions are what the tape means, for every protocol and limit") {
  for (const auto& protocol : every_protocol()) {
    CAPTURE(protocol);
    for (const std::uint32_t limit : {1u, 50u, 4096u}) {
      CAPTURE(limit);
      Race race = race_of(8, protocol, R"({"updates": 2000})");
      race.evaluations.every_time = 0.7;
      for (const bool keep : {false, true}) {
        Interpreter interpreter(race, limit, keep);
        interpreter.run();
        CHECK(interpreter.updates() == 2000);
      }
    }
  }
}

TEST_CASE("in_place: a long stage of async loads once, and needs a place for each learner") {
  const Race race = race_of(8, R"({"kind": "async"})", R"({"updates": 4000})");
  for (const bool keep : {false, true}) {
    Interpreter interpreter(race, 1'000'000, keep);
    interpreter.run();
    CHECK(interpreter.loads() == 1);
    CHECK(interpreter.places() == 8);
  }
}

}  // namespace gradrace
