#include "models/gpu/in_place.h"

#include <algorithm>

namespace gradrace {

const InPlaceProgram& InPlace::lower(const Program& program, const Lowering& lowering, bool keep) {
  in_place_.instructions.clear(), in_place_.stages.clear();
  in_place_.places.assign(program.uses.size(), 0);
  in_place_.at.assign(program.uses.size(), kernels::FactoredUse::moved);
  trace(program, lowering, keep);
  begin_stage();
  compute_old(program);
  for (std::uint32_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    if (step.kind == Step::Kind::update)
      update(step, values_[s]);
    else
      begin_stage();
  }
  return in_place_;
}

/// Finds out where each gradient is computed, and which values somebody looks for in their slots:
/// evaluations, later programs, and updates before which another state was at hand.
void InPlace::trace(const Program& program, const Lowering& lowering, bool keep) {
  writers_.assign(lowering.slots(), before);
  values_.assign(program.steps.size(), {});
  old_.resize(lowering.slots());
  for (const Slot slot : old_slots_) old_[slot] = {};
  old_slots_.clear();
  std::uint32_t at_hand = before;
  for (std::uint32_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    if (step.kind == Step::Kind::evaluate) {
      for (std::uint32_t i = step.first; i < step.first + step.count; ++i)
        want_stored(program.evaluated[i].at);
      at_hand = before;
      continue;
    }
    trace_uses(program, step, keep);
    if (at_hand == before || writers_[step.base] != at_hand) want_stored(step.base);
    at_hand = writers_[step.out] = s;
  }
  for (const Slot slot : lowering.kept()) want_stored(slot);
}

void InPlace::trace_uses(const Program& program, const Step& step, bool keep) {
  for (std::uint32_t i = step.first; i < step.first + step.count; ++i) {
    const Slot at = program.uses[i].at;
    const bool old = writers_[at] == before;
    if (old && old_[at].uses.empty()) old_slots_.push_back(at);
    (old ? old_[at] : values_[writers_[at]]).uses.push_back(i);
    if (!keep || at == step.base) continue;  // a slot holds one value at a time
    in_place_.at[i] = at;
    want_stored(at);
  }
}

void InPlace::want_stored(Slot slot) {
  if (writers_[slot] != before) values_[writers_[slot]].stored = true;
}

void InPlace::begin_stage() {
  in_place_.stages.push_back(in_place_.instructions.size());
  loaded_ = false;
}

/// Gradients at values of earlier programs; last those at the one that is moved first.
void InPlace::compute_old(const Program& program) {
  if (old_slots_.empty()) return;
  const auto moved = std::ranges::find(program.steps, Step::Kind::update, &Step::kind);
  std::ranges::sort(old_slots_);
  const auto compute_at = [&](Slot slot) {
    load(slot);
    compute(old_[slot]);
  };
  for (const Slot slot : old_slots_)
    if (slot != moved->base) compute_at(slot);
  if (std::ranges::binary_search(old_slots_, moved->base)) compute_at(moved->base);
}

void InPlace::compute(const Value& value) {
  for (const std::uint32_t use : value.uses) {
    if (spare_.empty()) spare_.push_back(places_++);
    in_place_.places[use] = spare_.back();
    spare_.pop_back();
    in_place_.instructions.push_back({Instruction::Kind::factor, 0, 0, use, 1});
  }
}

void InPlace::update(const Step& step, const Value& out) {
  load(step.base);
  in_place_.instructions.push_back(
      {Instruction::Kind::update, step.rule, 0, step.first, step.count});
  for (std::uint32_t i = step.first; i < step.first + step.count; ++i)
    spare_.push_back(in_place_.places[i]);
  at_hand_ = step.out;
  if (out.stored) in_place_.instructions.push_back({Instruction::Kind::store, 0, step.out, 0, 0});
  compute(out);
}

void InPlace::load(Slot slot) {
  if (loaded_ && at_hand_ == slot) return;
  in_place_.instructions.push_back({Instruction::Kind::load, 0, slot, 0, 0});
  at_hand_ = slot;
  loaded_ = true;
}

}  // namespace gradrace
