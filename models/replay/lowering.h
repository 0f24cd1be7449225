#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/tape.h"

namespace gradrace {

/// A place for one value on a device.  When nobody needs what it holds it is used again.
using Slot = std::uint32_t;

/// The gradient of the learner's draw-th minibatch at the value in a slot, computed where it is
/// used: a gradient is used once.
struct SlotUse {
  Slot at;
  std::uint32_t learner, draw;
  std::uint16_t recipe;  // index into Tape::recipes
  double weight;
};

/// update: the value in out = that in base moved by uses [first, first + count), in that order; out
/// is neither base nor any value that is still needed.  evaluate: loss and errors at the values in
/// evaluated [first, first + count).
struct Step {
  enum class Kind : std::uint8_t { update, evaluate };
  Kind kind;
  std::uint16_t rule;  // index into Tape::rules
  Slot out, base;      // of an update
  std::uint32_t first, count;
};

/// An evaluation that the tape asks for.
struct SlotEvaluation {
  Slot at;
  std::uint32_t uses;  // of the program that come before it
};

/// A segment of one run, as every device executes it.
struct Program {
  std::vector<Step> steps;
  std::vector<SlotUse> uses;
  std::vector<SlotEvaluation> evaluated;  // in the order of the tape

  void clear() { steps.clear(), uses.clear(), evaluated.clear(); }
};

/// Turns the segments of one run into programs: follows which values may still be named, and which
/// gradients are open.  A gradient that is not used appears nowhere.
class Lowering {
 public:
  /// The initial value stands in slot 0.
  Lowering();

  /// The next segment of the run; the program stays until the next call.
  const Program& lower(const Segment& segment);

  /// Slots that were ever named are less than this.
  Slot slots() const { return slots_; }

  /// Where the last value of the program before stands after it.
  Slot last() const;

  /// Where the values stand that a later program may name.
  std::vector<Slot> kept() const;

  /// So many evaluations are made at once, at the most.
  static constexpr std::size_t most_at_once = 16;

 private:
  static constexpr Slot none = ~Slot{0};

  struct Value {
    ValueId id;
    std::uint32_t references;  // gradients and operations that still need it
    Slot slot;
  };
  struct Open {
    GradientId id;
    Gradient gradient;
    bool done;
  };

  void add_values(const Segment& segment);
  void count_references(const Segment& segment);
  void update(const Segment& segment, const Op& op);
  void evaluate_pending();
  void carry_over(const Segment& segment);
  Gradient take_open(GradientId id);
  Value& find(ValueId id);
  Value& written(ValueId id);
  void release(Value& value);
  Slot fresh_slot();

  Program program_;
  std::vector<Value> values_;     // by id
  std::vector<Open> open_;        // by id
  std::vector<ValueId> held_;     // kept for the next segment's sake
  std::vector<ValueId> pending_;  // evaluations of this segment not made yet
  std::vector<Slot> spare_;       // the last one is used first: it may still be in a cache
  std::size_t carried_ = 0;       // values from earlier segments
  Slot slots_ = 1;
};

}  // namespace gradrace
