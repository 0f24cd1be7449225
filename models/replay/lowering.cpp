#include "models/replay/lowering.h"

#include <algorithm>

#include "sim/check.h"

namespace gradrace {

namespace {

/// The one of that id, or null.  all: by id, dense from `old` on.
template <class T>
T* find_in(std::vector<T>& all, std::size_t old, std::uint32_t id) {
  std::size_t found;
  if (old < all.size() && id >= all[old].id) {
    found = old + (id - all[old].id);
  } else {
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(old);
    found = static_cast<std::size_t>(
        std::lower_bound(all.begin(), end, id,
                         [](const T& each, std::uint32_t wanted) { return each.id < wanted; }) -
        all.begin());
  }
  return found < all.size() && all[found].id == id ? &all[found] : nullptr;
}

}  // namespace

std::span<const SlotTerm> terms_of(const Program& program, const Step& step) {
  const std::span all(program.terms);
  if (step.kind == Step::Kind::average) return all.subspan(step.first, step.count);
  const SlotEvaluation& evaluation = program.evaluated[step.first];
  return all.subspan(evaluation.first_term, evaluation.terms);
}

Lowering::Lowering(Order order, bool keep)
    : order_(order), keep_(keep), values_{{0, 1, 0}}, held_{0}, slots_{{}, 1} {}

const Program& Lowering::lower(const Segment& segment) {
  program_.clear();
  add_values(segment);
  add_gradients(segment);
  count_references(segment);
  bury(segment);
  if (order_ != Order::late) list_gradients(), compute_old(segment);
  for (const Op& op : segment.ops) {
    switch (op.kind) {
      case Op::Kind::update:
        update(segment, op);
        break;
      case Op::Kind::send:
        send(segment, op);
        break;
      case Op::Kind::send_model:
        send_model(segment, op);
        break;
      case Op::Kind::average:
        average(segment, op);
        break;
      case Op::Kind::evaluate:
        evaluate(segment, op);
    }
  }
  evaluate_pending();
  GRADRACE_CHECK(program_.uses.size() == segment.uses.size(), "every use is of an update");
  GRADRACE_CHECK(program_.terms.size() == segment.terms.size(), "every term is of an operation");
  GRADRACE_CHECK(program_.sent.size() == segment.sent.size(), "every message is sent");
  GRADRACE_CHECK(program_.models.size() == segment.models.size(), "every model is sent");
  carry_over(segment);
  return program_;
}

std::vector<Slot> Lowering::live() const {
  std::vector<Slot> slots;
  for (const ValueId id : held_)
    slots.push_back(std::ranges::lower_bound(values_, id, {}, &Value::id)->slot);
  return slots;
}

/// A record of every value that the segment writes.
void Lowering::add_values(const Segment& segment) {
  old_values_ = values_.size();
  for (const Op& op : segment.ops) {
    if (op.kind == Op::Kind::evaluate || op.out == no_value) continue;
    GRADRACE_CHECK(op.out == last_ + 1, "values are written in order");
    values_.push_back({++last_, 0});
    if (op.kind != Op::Kind::send_model || segment.models[op.first].after == no_value) continue;
    GRADRACE_CHECK(segment.models[op.first].after == last_ + 1, "values are written in order");
    values_.push_back({++last_, 0});
  }
}

/// A record of every gradient, and how often the segment uses it.
void Lowering::add_gradients(const Segment& segment) {
  old_gradients_ = gradients_.size();
  GradientId id = segment.first_gradient;
  for (const Gradient& gradient : segment.gradients)
    gradients_.push_back({id++, gradient, gradient.fate == Fate::open});
  for (std::uint32_t i = 0; i < segment.uses.size(); ++i) {
    const GradientId used = segment.uses[i].gradient;
    Known& gradient = known(used);
    if (used < segment.first_gradient) gradient.open = false;
    if (gradient.uses++ == 0) gradient.first_use = i;
  }
  for (const GradientId again : segment.open) known(again).open = true;
  for (const Sent& sent : segment.sent) known(sent.gradient).sent = true;
}

void Lowering::count_references(const Segment& segment) {
  for (std::size_t i = old_gradients_; i < gradients_.size(); ++i) {
    const Known& gradient = gradients_[i];
    const bool used = gradient.uses > 0 || gradient.open;
    GRADRACE_CHECK(used == (gradient.gradient.fate != Fate::dead),
                   "a gradient's fate says whether it is used");
    if (used || gradient.sent) ++find(gradient.gradient.at).references;
  }
  for (const Op& op : segment.ops)
    if (op.base != no_value) ++find(op.base).references;
  for (const Term& term : segment.terms) ++find(term.value).references;
  for (const SentModel& model : segment.models) {
    ++find(model.value).references;
    if (model.before != no_value) ++find(model.before).references;
  }
  for (const ValueId id : segment.live) ++find(id).references;
  // What was live for this segment's sake is named by now.
  for (const ValueId id : held_) release(find(id));
}

/// Of gradients of earlier segments that died; one that this one sends is lost there.
void Lowering::bury(const Segment& segment) {
  for (const GradientId id : segment.dead) {
    Known& gradient = known(id);
    GRADRACE_CHECK(gradient.open && gradient.uses == 0, "a gradient that dies was open");
    gradient.open = false;
    if (!gradient.sent || gradient.computed) finish(gradient);
  }
}

/// In an update of base.
void Lowering::use(const Use& use, ValueId base) {
  Known& gradient = known(use.gradient);
  const Gradient& of = gradient.gradient;
  const bool computed = gradient.computed;
  Slot at = no_slot;
  if (!computed || gradient.kept) {
    const Value& value = written(of.at);
    if (of.at != base) want_stored(value);
    at = value.slot;
    if (order_ == Order::for_a_use && gradient.used) compute_again(gradient, value);
  }
  gradient.used = true;
  if (!computed) compute(gradient);
  const bool again = --gradient.uses > 0 || gradient.open;
  program_.uses.push_back({at, gradient.place, computed, of.learner, of.draw, of.recipe, use.weight,
                           again, gradient.sent});
  if (!again) finish(gradient);
}

void Lowering::update(const Segment& segment, const Op& op) {
  const auto first = static_cast<std::uint32_t>(program_.uses.size());
  GRADRACE_CHECK(op.first == first, "uses stand in the order of their updates");
  for (std::uint32_t i = first; i < first + op.count; ++i) use(segment.uses[i], op.base);
  for (const std::uint32_t place : spent_) places_.give_back(place);
  spent_.clear();
  // The gradients are added up before out is written, so it may stand where one was computed.
  Step step{Step::Kind::update, op.rule, slots_.take(), 0, first, op.count};
  step.range = op.range;
  write(op, step);
}

/// The gradient is computed there, so that a learner's are in the order in which it sends.
void Lowering::send(const Segment& segment, const Op& op) {
  const auto number = static_cast<std::uint32_t>(program_.sent.size());
  GRADRACE_CHECK(op.first == number && op.count == 1, "messages stand in the order of sending");
  const Sent& sent = segment.sent[number];
  Known& gradient = known(sent.gradient);
  const Gradient& of = gradient.gradient;
  GRADRACE_CHECK(!gradient.computed, "a gradient is sent once, before it is used");
  const Value& at = written(of.at);
  want_stored(at);
  at_hand_ = none;
  const Slot computed_at = at.slot;
  compute(gradient);
  program_.sent.push_back({computed_at, gradient.place, false, of.learner, of.draw, of.recipe,
                           sent.weight, !sent.lost, false, sent.message});
  Step step{Step::Kind::send, 0, no_slot, no_slot, number, 1};
  step.out = write_memory(op.out);
  step.base = read_memory(op.base);
  program_.steps.push_back(step);
  if (gradient.uses == 0 && !gradient.open) finish(gradient);
}

void Lowering::send_model(const Segment& segment, const Op& op) {
  const auto number = static_cast<std::uint32_t>(program_.models.size());
  GRADRACE_CHECK(op.first == number && op.count == 1, "models stand in the order of sending");
  const SentModel& sent = segment.models[number];
  const Value& value = written(sent.value);
  want_stored(value);
  want_stored(written(op.base));
  at_hand_ = none;
  const Slot out = slots_.take(), after = write_memory(sent.after), at = value.slot;
  program_.models.push_back(
      {at, read_memory(sent.before), after, sent.learner, sent.number, sent.message});
  release(find(sent.value));
  write(op, {Step::Kind::send_model, 0, out, 0, number, 1});
}

Slot Lowering::write_memory(ValueId id) {
  if (id == no_value) return no_slot;
  Value& memory = find(id);
  GRADRACE_CHECK(memory.references > 0, "a memory is read by the learner's next message, or live");
  return memory.slot = slots_.take();
}

/// It is there until the next slot is taken.
Slot Lowering::read_memory(ValueId id) {
  if (id == no_value) return no_slot;
  Value& memory = written(id);
  release(memory);
  return memory.slot;
}

void Lowering::average(const Segment& segment, const Op& op) {
  GRADRACE_CHECK(op.count > 0, "an average has terms");
  const std::span terms = read_terms(segment, op);
  want_stored(written(op.base));
  at_hand_ = none;
  const Slot out = slots_.take();
  for (const Term& term : terms) release(find(term.value));
  write(op, {Step::Kind::average, op.rule, out, 0, op.first, op.count, op.summed});
}

void Lowering::write(const Op& op, Step step) {
  Value& base = written(op.base);
  step.base = base.slot;
  if (order_ != Order::late && step.kind == Step::Kind::update) bring(base), at_hand_ = op.out;
  program_.steps.push_back(step);
  release(base);
  Value& out = find(op.out);
  out.slot = step.out;
  out.writer = static_cast<std::uint32_t>(program_.steps.size()) - 1;
  if (out.references == 0)
    slots_.give_back(out.slot);
  else
    compute_at(out);
}

/// The value waits until several are evaluated at once; the terms, as many as there are learners,
/// do not.
void Lowering::evaluate(const Segment& segment, const Op& op) {
  const Value& value = written(op.base);
  want_stored(value);
  program_.evaluated.push_back(
      {value.slot, static_cast<std::uint32_t>(program_.uses.size()), op.first, op.count,
       static_cast<std::uint32_t>(program_.sent.size() + program_.models.size())});
  if (op.count > 0) {
    const auto number = static_cast<std::uint32_t>(program_.evaluated.size()) - 1;
    const std::span terms = read_terms(segment, op);
    program_.steps.push_back({Step::Kind::measure, 0, 0, value.slot, number, 1});
    for (const Term& term : terms) release(find(term.value));
    at_hand_ = none;
  }
  pending_.push_back(op.base);
  if (pending_.size() == most_at_once) evaluate_pending();
}

/// The terms of an average or evaluate, at their slots from now on; they are not released.
std::span<const Term> Lowering::read_terms(const Segment& segment, const Op& op) {
  GRADRACE_CHECK(op.first == program_.terms.size(), "terms stand in the order of their operations");
  const std::span terms = std::span(segment.terms).subspan(op.first, op.count);
  for (const Term& term : terms) {
    const Value& value = written(term.value);
    want_stored(value);
    program_.terms.push_back({value.slot, term.weight});
  }
  return terms;
}

void Lowering::evaluate_pending() {
  if (pending_.empty()) return;
  const auto count = static_cast<std::uint32_t>(pending_.size());
  const auto all = static_cast<std::uint32_t>(program_.evaluated.size());
  program_.steps.push_back({Step::Kind::evaluate, 0, 0, 0, all - count, count});
  for (const ValueId id : pending_) release(find(id));
  pending_.clear();
  at_hand_ = none;
}

/// Keeps what later segments may name.
void Lowering::carry_over(const Segment& segment) {
  std::erase_if(gradients_, [](const Known& gradient) { return !gradient.open; });
  std::erase_if(values_, [](const Value& value) { return value.references == 0; });
  for (Value& value : values_) {
    want_stored(value);
    value.writer = value.first = none;
  }
  for (Known& gradient : gradients_) gradient.first_use = gradient.next = none;
  at_hand_ = none;
  held_ = segment.live;
}

/// Its value must be there, and is released where it is not kept.
void Lowering::compute(Known& gradient) {
  gradient.place = places_.take();
  gradient.computed = true;
  ++program_.computed;
  const bool again = gradient.uses > 1 || gradient.open;
  gradient.kept = keep_ || (order_ == Order::for_a_use && again);
  if (!gradient.kept) release(find(gradient.gradient.at));
}

/// Frees what is held of a gradient that is not used any more.
void Lowering::finish(const Known& gradient) {
  if (gradient.computed && order_ == Order::for_a_use)
    spent_.push_back(gradient.place);
  else if (gradient.computed)
    places_.give_back(gradient.place);
  if (!gradient.computed || gradient.kept) release(find(gradient.gradient.at));
}

Lowering::Known& Lowering::known(GradientId id) {
  Known* const found = find_in(gradients_, old_gradients_, id);
  GRADRACE_CHECK(found, "a gradient that is used or dies is open");
  return *found;
}

Lowering::Value& Lowering::find(ValueId id) {
  Value* const found = find_in(values_, old_values_, id);
  GRADRACE_CHECK(found, "a value that is named is alive");
  return *found;
}

Lowering::Value& Lowering::written(ValueId id) {
  Value& value = find(id);
  GRADRACE_CHECK(value.slot != no_slot && value.references > 0, "a value that is named is alive");
  return value;
}

void Lowering::release(Value& value) {
  GRADRACE_CHECK(value.references > 0, "a value is released once for each reference");
  if (--value.references == 0 && value.slot != no_slot) slots_.give_back(value.slot);
}

std::uint32_t Lowering::Pool::take() {
  if (spare.empty()) return count++;
  const std::uint32_t number = spare.back();
  spare.pop_back();
  return number;
}

// ---- the early orders

/// Those to be computed, at their values, in the order of their ids.
void Lowering::list_gradients() {
  for (std::size_t i = gradients_.size(); i-- > 0;) {
    Known& gradient = gradients_[i];
    if (gradient.uses == 0 || gradient.computed || gradient.sent) continue;
    Value& at = find(gradient.gradient.at);
    gradient.next = at.first;
    at.first = static_cast<std::uint32_t>(i);
  }
}

/// Gradients at values of earlier programs; last those at the one that is moved first.
void Lowering::compute_old(const Segment& segment) {
  const auto moved = std::ranges::find(segment.ops, Op::Kind::update, &Op::kind);
  const ValueId last = moved == segment.ops.end() ? 0 : moved->base;
  for (std::size_t i = 0; i < old_values_; ++i)
    if (values_[i].id != last) compute_at(values_[i]);
  for (std::size_t i = 0; i < old_values_; ++i)
    if (values_[i].id == last) compute_at(values_[i]);
}

/// The gradients at a value of which a use is known.
void Lowering::compute_at(const Value& value) {
  for (std::uint32_t i = value.first; i != none; i = gradients_[i].next) {
    bring(value);
    program_.steps.push_back({Step::Kind::compute, 0, 0, value.slot, gradients_[i].first_use, 1});
    compute(gradients_[i]);
  }
}

/// For the next use of the program; the update may need what it was for its last one.
void Lowering::compute_again(Known& gradient, const Value& value) {
  bring(value);
  spent_.push_back(gradient.place);
  gradient.place = places_.take();
  const auto use = static_cast<std::uint32_t>(program_.uses.size());
  program_.steps.push_back({Step::Kind::compute, 0, 0, value.slot, use, 1});
}

/// The state moved becomes that value.
void Lowering::bring(const Value& value) {
  if (at_hand_ != value.id) want_stored(value);
  at_hand_ = value.id;
}

void Lowering::want_stored(const Value& value) {
  if (value.writer != none) program_.steps[value.writer].stored = true;
}

}  // namespace gradrace
