#pragma once

#include <cstdint>
#include <vector>

#include "models/gpu/kernels/instruction.h"
#include "models/replay/lowering.h"

namespace gradrace {

using Instruction = kernels::Instruction;

/// A program for a device that moves one state of a run in place.
struct InPlaceProgram {
  /// stages[s]: index of the first instruction of stage s; a stage ends at an evaluation.  Each
  /// stage first loads what it needs, and stores what others need.
  std::vector<Instruction> instructions;
  std::vector<std::size_t> stages;
  std::vector<std::uint32_t> places;  // [uses]: of each one's factors; free after its update
  std::vector<Slot> at;               // [uses]: where the value of an older gradient is kept
};

/// Turns the programs of one run into such ones.
class InPlace {
 public:
  /// Of the lowering's last program.  It stays until the next call.  keep: needed with l2, whose
  /// term uses the parameters that the gradient was computed at.
  const InPlaceProgram& lower(const Program& program, const Lowering& lowering, bool keep = false);

  /// Places that were ever used are less than this.
  std::uint32_t places() const { return places_; }

 private:
  static constexpr std::uint32_t before = ~std::uint32_t{0};  // the program

  /// What becomes of a value: of that an update wrote, or of what was in a slot before.
  struct Value {
    bool stored = false;
    std::vector<std::uint32_t> uses = {};  // computed at it
  };

  void trace(const Program& program, const Lowering& lowering, bool keep);
  void trace_uses(const Program& program, const Step& step, bool keep);
  void begin_stage();
  void compute_old(const Program& program);
  void compute(const Value& value);
  void want_stored(Slot slot);
  void update(const Step& step, const Value& out);
  void load(Slot slot);

  InPlaceProgram in_place_;
  std::vector<std::uint32_t> writers_;  // [slot]: the step that has written it
  std::vector<Value> values_, old_;     // [step], [slot]
  std::vector<Slot> old_slots_;         // that gradients are computed at
  std::vector<std::uint32_t> spare_;
  std::uint32_t places_ = 0;
  Slot at_hand_ = 0;  // the slot whose value the state is
  bool loaded_ = false;
};

}  // namespace gradrace
