#pragma once

#include <cmath>

#include "models/optimiser/state.h"
#include "sim/catalog.h"
#include "sim/quotient.h"

namespace gradrace {

/// m' = beta1 m + (1 - beta1) g,  v' = beta2 v + (1 - beta2) g^2,  t' = t + 1, all from 0;
///
///     w' = w - rate m^ / (sqrt(v^) + epsilon),
///     m^ = m' / (1 - beta1^t'),  v^ = v' / (1 - beta2^t'),
///
/// where rate is the sum of weights and g the mean of the gradients by them; an update whose
/// weights vanish leaves the state.
struct Adam {
  static constexpr Page page{
      .name = "adam",
      .definition =
          "Component by component, m, v and t being 0 at first, g the mean of an update's "
          "gradients by their learning rates and eta the mean of those:\n\n"
          "    m' = beta1 m + (1 - beta1) g\n"
          "    v' = beta2 v + (1 - beta2) g^2\n"
          "    t' = t + 1\n"
          "    w' = w - eta (m' / (1 - beta1^t')) / (sqrt(v' / (1 - beta2^t')) + epsilon)\n\n"
          "An update of no learning rate leaves all of them and does not count. Gradients are "
          "clipped before their mean is taken, and an ema is of w'. A batch normalisation's "
          "running statistics are no part of w. In float32, t stays at 2^24.",
      .source = "Kingma and Ba, ICLR 2015, Algorithm 1",
      .example = R"({"kind": "adam", "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8})"};

  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double summed = 1;  // gradients of an update, each with its weight, that are one of this rule

  void visit(Fields& fields) {
    fields.real("beta1", beta1, Need::defaulted, from_below(0, 1),
                "m' = beta1 m + (1 - beta1) g: the mean of the gradients of past updates");
    fields.real("beta2", beta2, Need::defaulted, from_below(0, 1),
                "v' = beta2 v + (1 - beta2) g^2: that of their squares");
    fields.real("epsilon", epsilon, Need::defaulted, at_least(1e-37),
                "added to sqrt(v^); a float32 less than that is 0");
  }

  enum Part : std::size_t { mean, mean_square, updates };
  static constexpr StatePart parts[] = {
      {StatePart::Length::learnt, 0}, {StatePart::Length::learnt, 0}, {StatePart::Length::one, 0}};
  static bool keeps(std::size_t) { return true; }

  template <class Real>
  class Step {
   public:
    GRADRACE_HD Step(const Adam& adam, const Update<Real>& update)
        : mean_(update.part(mean)),
          square_(update.part(mean_square)),
          updates_(update.part(updates)),
          vanishing_(update.vanishes()),
          rate_(static_cast<Real>(update.rate / adam.summed)),
          per_rate_(static_cast<Real>(adam.summed / update.rate)),
          beta1_(static_cast<Real>(adam.beta1)),
          beta2_(static_cast<Real>(adam.beta2)),
          new1_(static_cast<Real>(1 - adam.beta1)),
          new2_(static_cast<Real>(1 - adam.beta2)),
          epsilon_(static_cast<Real>(adam.epsilon)),
          made_(*updates_.from + (vanishing_ ? 0 : 1)),
          of_mean_(static_cast<Real>(1 - std::pow(adam.beta1, static_cast<double>(made_)))),
          of_square_(static_cast<Real>(1 - std::pow(adam.beta2, static_cast<double>(made_)))) {}

    GRADRACE_HD const PartMove<Real>& part(std::size_t part) const {
      return part == mean ? mean_ : square_;
    }

    template <class Number>
    GRADRACE_HD Number operator()(Number w, Number change, Number (&kept)[number_parts]) const {
      if (vanishing_) return w;
      const Number g = change * per_rate_;
      const Number m = beta1_ * kept[mean] + new1_ * g;
      const Number v = beta2_ * kept[mean_square] + new2_ * g * g;
      kept[mean] = m, kept[mean_square] = v;
      return w - quotient(rate_ * quotient(m, of_mean_), root(quotient(v, of_square_)) + epsilon_);
    }

    /// What is one number of a state.
    GRADRACE_HD void once() const { *updates_.to = made_; }

   private:
    PartMove<Real> mean_, square_, updates_;
    bool vanishing_;
    Real rate_, per_rate_, beta1_, beta2_, new1_, new2_, epsilon_;  // new: 1 - beta
    Real made_, of_mean_, of_square_;
  };
};

}  // namespace gradrace
