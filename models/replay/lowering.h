#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/tape.h"

namespace gradrace {

/// Where a device keeps one value; used again when nothing needs what it holds.
using Slot = std::uint32_t;
inline constexpr Slot no_slot = ~Slot{0};

/// When a gradient is computed.
enum class Order : std::uint8_t {
  late,   // when it is first used; values wait in their slots for that
  early,  // as soon as its value is there and a use is known; gradients wait, so that a device can
          // move one state along
  for_a_use,  // early, and anew for each use, whose weight it holds
};

/// The gradient of the learner's draw-th minibatch at the value in a slot enters an update, or the
/// message that its learner sends.
struct SlotUse {
  Slot at;              // no_slot where the value is gone
  std::uint32_t place;  // of the gradient among those that the device keeps; used again, too
  bool computed;        // it is there already; else it is computed right here, before the next use
  std::uint32_t learner, draw;
  std::uint16_t recipe;  // index into Tape::recipes
  double weight;
  bool again = false;      // a later use may need it, or the message
  bool message = false;    // which is what stands at the place
  std::uint16_t code = 0;  // index into Tape::messages, of one that is sent
};

/// The value in a slot is sent, as far as it is from another; before and after: slots of its
/// learner's memory, no_slot as SentModel has no_value.
struct SlotModel {
  Slot at, before, after;
  std::uint32_t learner, number;
  std::uint16_t message;  // index into Tape::messages
};

/// The value in a slot enters an average or a disagreement.
struct SlotTerm {
  Slot at;
  double weight;
};

/// compute (never in the late order): the gradient of use `first`, at the value in base.
///
/// update: the value in out = that in base moved by uses [first, first + count), in that order; out
/// is neither base nor any value that is still needed.
///
/// send: the message of sent [first]; the learner's memories after and before it are in out and
/// base, two slots, or no_slot as Op::send has no_value.
///
/// send_model: the value in out is what is made of models [first], sent as far as they are from
/// base.
///
/// average: the value in out = that in base with terms [first, first + count) as Op::average says;
/// out is none of them.
///
/// measure: the disagreement of evaluated [first], whose terms may be gone when the rest of it is
/// evaluated.
///
/// evaluate: loss and errors at the values in evaluated [first, first + count).
struct Step {
  enum class Kind : std::uint8_t { compute, update, send, send_model, average, measure, evaluate };
  Kind kind;
  std::uint16_t rule;  // index into Tape::rules
  Slot out, base;
  std::uint32_t first, count;
  Summed summed = Summed::parameters;  // of an average
  std::uint16_t range = no_range;      // of an update, as Op has it
  bool stored = false;  // early order: out is read from its slot later, not only moved along
};

/// An evaluation that the tape asks for.
struct SlotEvaluation {
  Slot at;
  std::uint32_t uses;               // of the program that precede this evaluation
  std::uint32_t first_term, terms;  // of the disagreement with the value; no terms: not wanted
  std::uint32_t sent;               // messages of the program that precede it, models too
};

/// A segment of one run, as every device executes it.
struct Program {
  std::vector<Step> steps;
  std::vector<SlotUse> uses;  // in the order of the tape, as are the next three
  std::vector<SlotTerm> terms;
  std::vector<SlotUse> sent;  // not `again`: the message is lost
  std::vector<SlotModel> models;
  std::vector<SlotEvaluation> evaluated;
  std::uint64_t computed = 0;  // gradients; fewer than uses where one is used again

  void clear() {
    steps.clear(), uses.clear(), terms.clear(), sent.clear(), evaluated.clear();
    models.clear();
    computed = 0;
  }
};

/// Of a step average or measure.
std::span<const SlotTerm> terms_of(const Program& program, const Step& step);

/// Turns the segments of one run into programs: follows which values may still be named, and which
/// gradients are open.  A gradient that is not used appears nowhere.  One that is used and stays
/// open keeps its place; one that is open and not used yet keeps its value.
class Lowering {
 public:
  /// The initial value stands in slot 0.  keep: a value stays until the last use of the gradients
  /// computed at it, else until they are computed.
  explicit Lowering(Order order = Order::late, bool keep = false);

  /// The next segment of the run; the program stays until the next call.
  const Program& lower(const Segment& segment);

  /// Slots and places that were ever named are less than these.
  Slot slots() const { return slots_.count; }
  std::uint32_t places() const { return places_.count; }

  /// Where Segment::live of the program before stand after it, in that order.
  std::vector<Slot> live() const;

  /// At most so many evaluations are made at once.
  static constexpr std::size_t most_at_once = 16;

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct Value {
    ValueId id;
    std::uint32_t references;  // gradients and operations that still need it
    Slot slot = no_slot;
    std::uint32_t writer = none;  // step of this program
    std::uint32_t first = none;   // in gradients_, of those computed at it
  };
  struct Known {
    GradientId id;
    Gradient gradient;
    bool open;  // a later segment may use it
    bool computed = false;
    bool sent = false;  // or will be, in this segment
    bool used = false;
    bool kept = false;  // its value is, until its last use
    std::uint32_t place = 0;
    std::uint32_t uses = 0;          // of this segment, not made yet
    std::uint32_t first_use = none;  // of this segment
    std::uint32_t next = none;       // in gradients_, computed at the same value
  };
  /// Numbers that are given out and come back.
  struct Pool {
    std::vector<std::uint32_t> spare = {};  // the last one is used first: it may be in a cache
    std::uint32_t count = 0;

    std::uint32_t take();
    void give_back(std::uint32_t number) { spare.push_back(number); }
  };

  void add_values(const Segment& segment);
  void add_gradients(const Segment& segment);
  void count_references(const Segment& segment);
  void bury(const Segment& segment);
  void use(const Use& use, ValueId base);
  void update(const Segment& segment, const Op& op);
  void send(const Segment& segment, const Op& op);
  void send_model(const Segment& segment, const Op& op);
  Slot read_memory(ValueId id);
  Slot write_memory(ValueId id);
  void average(const Segment& segment, const Op& op);
  void write(const Op& op, Step step);
  void evaluate(const Segment& segment, const Op& op);
  std::span<const Term> read_terms(const Segment& segment, const Op& op);
  void evaluate_pending();
  void carry_over(const Segment& segment);

  void compute(Known& gradient);
  void finish(const Known& gradient);
  Known& known(GradientId id);
  Value& find(ValueId id);
  Value& written(ValueId id);
  void release(Value& value);

  // Of the early orders.
  void list_gradients();
  void compute_again(Known& gradient, const Value& value);
  void compute_old(const Segment& segment);
  void compute_at(const Value& value);
  void bring(const Value& value);
  void want_stored(const Value& value);

  Order order_;
  bool keep_;
  Program program_;
  std::vector<Value> values_;         // by id
  std::vector<Known> gradients_;      // by id
  std::size_t old_values_ = 0;        // from earlier segments
  std::size_t old_gradients_ = 0;     // likewise
  std::vector<ValueId> held_;         // kept for the next segment's sake
  std::vector<ValueId> pending_;      // evaluations of this segment not made yet
  ValueId last_ = 0;                  // written
  ValueId at_hand_ = none;            // the state moved, in an early order
  std::vector<std::uint32_t> spent_;  // places of gradients that an update is the last to use
  Pool slots_, places_;
};

}  // namespace gradrace
