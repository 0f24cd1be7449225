#pragma once

#include <cstring>
#include <type_traits>
#include <variant>

#include "models/optimiser/adam.h"
#include "models/optimiser/adamw.h"
#include "models/optimiser/sgd.h"

namespace gradrace {

/// Every optimiser, in the order in which they are listed.  A kind has a page, and visit() for its
/// keys; the parts of a state beside w, of which a run has those that one of its rules keeps(); and
/// the Step of an update, which gives w' of a number from w, from the sum of weight g and from the
/// numbers of its parts, which it moves.
using OptimiserKind = std::variant<Sgd, Adam, AdamW>;

/// f(what the variant holds), on a GPU too.
template <class Function, class... Kind>
GRADRACE_HD void with_kind(const std::variant<Kind...>& variant, const Function& f) {
  ((std::holds_alternative<Kind>(variant) ? f(*std::get_if<Kind>(&variant)) : void()), ...);
}

template <class Real, class... Kind>
std::variant<typename Kind::template Step<Real>...> steps_of(const std::variant<Kind...>&);

/// The Step of any kind.
template <class Real>
using AnyStep = decltype(steps_of<Real>(OptimiserKind()));

template <class Real, std::size_t index = 0>
GRADRACE_HD AnyStep<Real> step_of(const OptimiserKind& kind, const Update<Real>& update) {
  if constexpr (index + 1 < std::variant_size_v<OptimiserKind>)
    if (kind.index() != index) return step_of<Real, index + 1>(kind, update);
  using Made = std::variant_alternative_t<index, AnyStep<Real>>;
  static_assert(std::is_trivially_copyable_v<Made>);  // by a constexpr constructor: see GRADRACE_HD
  return AnyStep<Real>(std::in_place_index<index>, Made(*std::get_if<index>(&kind), update));
}

/// The number there, or several from there on, side by side in one Number.
template <class Number, class Real>
GRADRACE_HD Number load(const Real* from) {
  if constexpr (std::is_same_v<Number, Real>) return *from;
  Number number;
  std::memcpy(&number, from, sizeof number);
  return number;
}

template <class Number, class Real>
GRADRACE_HD void store(Number number, Real* to) {
  if constexpr (std::is_same_v<Number, Real>)
    *to = number;
  else
    std::memcpy(to, &number, sizeof number);
}

/// w' of number j, or of several from it on, whose parts are moved.
template <class Step, class Number>
GRADRACE_HD Number move_number(const Step& step, std::uint32_t j, Number w, Number change) {
  Number kept[number_parts] = {};
  for (std::size_t part = 0; part < number_parts; ++part)
    if (step.part(part).to != nullptr) kept[part] = load<Number>(&step.part(part).from[j]);
  w = step(w, change, kept);
  for (std::size_t part = 0; part < number_parts; ++part)
    if (step.part(part).to != nullptr) store(kept[part], &step.part(part).to[j]);
  return w;
}

/// Moves the parts of a state that are one number.
template <class Step>
GRADRACE_HD void once(const Step& step) {
  if constexpr (requires { step.once(); }) step.once();
}

/// Whether w' = w - sum of weight g in a run with such states.
GRADRACE_HD inline bool is_plain(const OptimiserKind& kind, const StateLayout& layout) {
  return std::holds_alternative<Sgd>(kind) && layout.only_w();
}

/// One number of the running statistics moved, likewise.
template <class Real>
class Merge {
 public:
  GRADRACE_HD Merge(double decay, const Update<Real>& update)
      : vanishing_(update.vanishes()),
        decay_(static_cast<Real>(decay)),
        per_rate_(static_cast<Real>(1 / update.rate)) {}

  GRADRACE_HD Real operator()(Real s, Real change) const {
    return vanishing_ ? s : decay_ * s + (1 - decay_) * (change * per_rate_);
  }

 private:
  bool vanishing_;
  Real decay_, per_rate_;
};

/// One number of an ema's average moved towards w'.
template <class Real>
class Follow {
 public:
  GRADRACE_HD explicit Follow(double ema) : share_(static_cast<Real>(1 - ema)) {}
  GRADRACE_HD Real operator()(Real average, Real w) const {
    return average + share_ * (w - average);
  }

 private:
  Real share_;
};

/// A state moved number by number, for a GPU's threads; the CPU moves part after part.
template <class Real>
class Move {
 public:
  GRADRACE_HD Move(const OptimiserKind& kind, double ema, const StateLayout& layout,
                   double statistics_decay, const Update<Real>& update)
      : update_(update),
        step_(step_of(kind, update)),
        merge_(statistics_decay, update),
        follow_(ema),
        learnt_(layout.learnt) {}

  /// w' of number j, whose w may be elsewhere than the base's; `change` is the sum of weight g.
  GRADRACE_HD Real operator()(std::uint32_t j, Real w, Real change) const {
    if (j < learnt_)
      with_kind(step_, [&](const auto& step) { w = move_number(step, j, w, change); });
    else
      w = merge_(w, change);
    if (j == 0) with_kind(step_, [](const auto& step) { once(step); });
    if (update_.out.average != nullptr)
      update_.out.average[j] = follow_(update_.base.average[j], w);
    return w;
  }

  /// f(step), a copy, which a GPU's thread keeps in registers.
  template <class Function>
  GRADRACE_HD void with_step(const Function& f) const {
    with_kind(step_, [&](const auto& at_hand) {
      const auto step = at_hand;
      f(step);
    });
  }
  GRADRACE_HD PartMove<Real> average() const { return {update_.base.average, update_.out.average}; }
  GRADRACE_HD const Follow<Real>& follow() const { return follow_; }

 private:
  Update<Real> update_;
  AnyStep<Real> step_;
  Merge<Real> merge_;
  Follow<Real> follow_;
  std::uint32_t learnt_;
};

}  // namespace gradrace
