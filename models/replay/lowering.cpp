#include "models/replay/lowering.h"

#include <algorithm>

#include "sim/check.h"

namespace gradrace {

Lowering::Lowering() : values_{{0, 1, 0}}, held_{0} {}

const Program& Lowering::lower(const Segment& segment) {
  program_.clear();
  carried_ = values_.size();
  add_values(segment);
  count_references(segment);
  for (const GradientId id : segment.dead) release(find(take_open(id).at));
  for (const Op& op : segment.ops) {
    GRADRACE_CHECK(op.kind != Op::Kind::average, "no device replays averages");
    if (op.kind == Op::Kind::update) {
      update(segment, op);
    } else {
      const auto uses = static_cast<std::uint32_t>(program_.uses.size());
      program_.evaluated.push_back({written(op.base).slot, uses});
      pending_.push_back(op.base);
      if (pending_.size() == most_at_once) evaluate_pending();
    }
  }
  evaluate_pending();
  carry_over(segment);
  return program_;
}

Slot Lowering::last() const {
  GRADRACE_CHECK(values_.back().references > 0, "the last value of a segment may still be named");
  return values_.back().slot;
}

std::vector<Slot> Lowering::kept() const {
  std::vector<Slot> slots;
  for (const Value& value : values_) slots.push_back(value.slot);
  return slots;
}

/// A place for every value that the segment writes.
void Lowering::add_values(const Segment& segment) {
  for (const Op& op : segment.ops) {
    if (op.kind != Op::Kind::update) continue;
    GRADRACE_CHECK(op.out == values_.back().id + 1, "values are written in order");
    values_.push_back({op.out, 0, none});
  }
}

void Lowering::count_references(const Segment& segment) {
  for (const auto& gradient : segment.gradients) {
    if (gradient.fate != Fate::dead) ++find(gradient.at).references;
  }
  for (const Op& op : segment.ops) ++find(op.base).references;
  for (const ValueId id : segment.live) ++find(id).references;
  // What was live for this segment's sake is named by now.
  for (const ValueId id : held_) release(find(id));
}

void Lowering::update(const Segment& segment, const Op& op) {
  const auto first = static_cast<std::uint32_t>(program_.uses.size());
  for (std::uint32_t i = op.first; i < op.first + op.count; ++i) {
    const Use& use = segment.uses[i];
    const Gradient gradient = use.gradient >= segment.first_gradient
                                  ? segment.gradients[use.gradient - segment.first_gradient]
                                  : take_open(use.gradient);
    Value& at = written(gradient.at);
    program_.uses.push_back(
        {at.slot, gradient.learner, gradient.draw, gradient.recipe, use.weight});
    release(at);
  }
  // The gradients are added up before out is written, so it may stand where one was computed.
  const Slot out = fresh_slot();
  Value& base = written(op.base);
  program_.steps.push_back({Step::Kind::update, op.rule, out, base.slot, first, op.count});
  release(base);
  Value& value = find(op.out);
  value.slot = out;
  if (value.references == 0) spare_.push_back(out);
}

void Lowering::evaluate_pending() {
  if (pending_.empty()) return;
  const auto count = static_cast<std::uint32_t>(pending_.size());
  const auto all = static_cast<std::uint32_t>(program_.evaluated.size());
  program_.steps.push_back({Step::Kind::evaluate, 0, 0, 0, all - count, count});
  for (const ValueId id : pending_) release(find(id));
  pending_.clear();
}

/// Keeps what later segments may name.
void Lowering::carry_over(const Segment& segment) {
  std::erase_if(open_, [](const Open& open) { return open.done; });
  for (std::size_t i = 0; i < segment.gradients.size(); ++i) {
    if (segment.gradients[i].fate != Fate::open) continue;
    open_.push_back(
        {segment.first_gradient + static_cast<GradientId>(i), segment.gradients[i], false});
  }
  held_ = segment.live;
  std::erase_if(values_, [](const Value& value) { return value.references == 0; });
}

Gradient Lowering::take_open(GradientId id) {
  const auto found =
      std::lower_bound(open_.begin(), open_.end(), id,
                       [](const Open& open, GradientId wanted) { return open.id < wanted; });
  GRADRACE_CHECK(found != open_.end() && found->id == id && !found->done,
                 "a gradient is used or dies once");
  found->done = true;
  return found->gradient;
}

Lowering::Value& Lowering::find(ValueId id) {
  auto found = values_.begin();
  if (carried_ < values_.size() && id >= values_[carried_].id) {
    found += static_cast<std::ptrdiff_t>(carried_ + id - values_[carried_].id);
  } else {
    found = std::lower_bound(found, found + static_cast<std::ptrdiff_t>(carried_), id,
                             [](const Value& value, ValueId wanted) { return value.id < wanted; });
  }
  GRADRACE_CHECK(found < values_.end() && found->id == id, "a value that is named is alive");
  return *found;
}

Lowering::Value& Lowering::written(ValueId id) {
  Value& value = find(id);
  GRADRACE_CHECK(value.slot != none && value.references > 0, "a value that is named is alive");
  return value;
}

void Lowering::release(Value& value) {
  GRADRACE_CHECK(value.references > 0, "a value is released once for each use");
  if (--value.references == 0 && value.slot != none) spare_.push_back(value.slot);
}

Slot Lowering::fresh_slot() {
  if (spare_.empty()) return slots_++;
  const Slot slot = spare_.back();
  spare_.pop_back();
  return slot;
}

}  // namespace gradrace
