#include "models/gpu/stages.h"

namespace gradrace {

void Stages::split(const Program& program) {
  steps_.clear(), later_.clear(), touched_.clear();
  stages_.assign(1, {0});
  for (const Step& step : program.steps) {
    switch (step.kind) {
      case Step::Kind::compute:
      case Step::Kind::update:
      case Step::Kind::send:
      case Step::Kind::send_model:
        move(step);
        break;
      case Step::Kind::average:
      case Step::Kind::measure:
        add_of_states(program, step);
        break;
      case Step::Kind::evaluate:
        stages_.back().evaluates = &step;
        end_stage();
    }
  }
  if (!later_.empty()) end_stage();
}

/// A gradient that is computed at an average does not end the averages beside that.
void Stages::move(const Step& step) {
  if (stages_.back().of_states > 0) {
    if (step.kind == Step::Kind::compute) {
      later_.push_back(&step);
      touched(step.base).read = stages_.size();
      return;
    }
    end_stage();
  }
  steps_.push_back(&step);
  ++stages_.back().moves;
}

void Stages::add_of_states(const Program& program, const Step& step) {
  if (!is_free(program, step)) end_stage();
  steps_.push_back(&step);
  ++stages_.back().of_states;
  each_read(program, step, [&](Slot slot) { touched(slot).read = stages_.size(); });
  if (step.kind == Step::Kind::average) touched(step.out).written = stages_.size();
}

/// Whether the step needs nothing that the stage's others of states write, and writes nothing that
/// they need.
bool Stages::is_free(const Program& program, const Step& step) {
  bool is_free = true;
  each_read(program, step,
            [&](Slot slot) { is_free = is_free && touched(slot).written < stages_.size(); });
  if (step.kind == Step::Kind::average) {
    const Touched& out = touched(step.out);
    is_free = is_free && out.read < stages_.size() && out.written < stages_.size();
  }
  return is_free;
}

template <class Use>
void Stages::each_read(const Program& program, const Step& step, const Use& use) {
  use(step.base);
  for (const SlotTerm& term : terms_of(program, step)) use(term.at);
}

Stages::Touched& Stages::touched(Slot slot) {
  if (slot >= touched_.size()) touched_.resize(slot + 1);
  return touched_[slot];
}

void Stages::end_stage() {
  stages_.push_back({steps_.size()});
  for (const Step* const step : later_) steps_.push_back(step);
  stages_.back().moves = later_.size();
  later_.clear();
}

}  // namespace gradrace
