#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "models/optimiser/state.h"
#include "sim/catalog.h"
#include "sim/quotient.h"

namespace gradrace {

/// s' = decay s + (1 - decay) g^2 from s = 1, component by component; g / sqrt(s' + epsilon) then
/// stands for g.  g is the mean of the gradients by their weights; an update whose weights vanish
/// leaves s.
struct RmsProp {
  double decay = 0.9;
  double epsilon = 1e-8;
};

/// v' = momentum v + sum of weight g;  w' = w - v', or with Nesterov's look-ahead
/// w' = w - (momentum v' + sum of weight g).
///
/// Of gradients: v' = momentum v + g,  w' = w - rate v', or w' = w - rate (momentum v' + g), where
/// rate is the sum of weights and g the mean of the gradients by them; an update whose weights
/// vanish leaves v and w.  The same at one rate; where the rate changes, what v has carried on
/// changes with it.
struct Sgd {
  static constexpr Page page{
      .name = "sgd",
      .definition =
          "Stochastic gradient descent: w' = w - eta g, g the mean of an update's gradients. With "
          "momentum v' = momentum v + eta g, w' = w - v', where v is 0 at first. It is the "
          "optimiser of a scenario that names none.",
      .source =
          "Robbins and Monro, 1951; Polyak, 1964; Nesterov, 1983 as in Sutskever et al., "
          "ICML 2013; RMSProp: Tieleman and Hinton, 2012",
      .example = R"({"kind": "sgd", "momentum": 0.9})"};

  double momentum = 0;
  bool nesterov = false;
  bool of_gradients = false;
  bool from_rest = false;  // v is taken for 0
  std::optional<RmsProp> rmsprop = {};
  double summed = 1;  // gradients of an update, each with its weight, that are one of this rule

  void visit(Fields& fields) {
    fields.real("momentum", momentum, Need::defaulted, from_below(0, 1),
                "v' = momentum v + eta g, w' = w - v'");
    of_gradients = fields.second_of(
        "momentum_of", "steps", "gradients",
        "gradients: v' = momentum v + g, w' = w - eta v', as TensorFlow and PyTorch have it; "
        "then what is carried on follows the learning rate when that changes");
    fields.flag("nesterov", nesterov, Need::defaulted,
                "look ahead: w' = w - (momentum v' + eta g)");
    if (fields.open("rmsprop", Need::none,
                    "g / sqrt(s' + epsilon) in place of g, as in TensorFlow and Chen et al., "
                    "2016")) {
      RmsProp& rule = rmsprop.emplace();
      fields.real("decay", rule.decay, Need::defaulted, from_below(0, 1),
                  "s' = decay s + (1 - decay) g^2 from s = 1, g the mean by learning rates");
      fields.real("epsilon", rule.epsilon, Need::defaulted, at_least(1e-37),
                  "added to s'; a float32 less than that is 0");
      fields.close();
    }
    if (nesterov && momentum == 0) {
      fields.complain("nesterov", "looks ahead along a momentum, and there is none",
                      "momentum > 0");
    }
  }

  enum Part : std::size_t { velocity, mean_square };
  static constexpr StatePart parts[] = {{StatePart::Length::learnt, 0},
                                        {StatePart::Length::learnt, 1}};
  bool keeps(std::size_t part) const {
    return part == velocity ? momentum != 0 : rmsprop.has_value();
  }

  template <class Real>
  class Step {
   public:
    GRADRACE_HD Step(const Sgd& sgd, const Update<Real>& update)
        : velocity_(update.part(velocity)),
          square_(update.part(mean_square)),
          rescaled_(sgd.rmsprop && !update.vanishes()),
          nesterov_(sgd.nesterov),
          momentum_(static_cast<Real>(sgd.momentum)) {
      if (rescaled_) {
        decay_ = static_cast<Real>(sgd.rmsprop->decay);
        epsilon_ = static_cast<Real>(sgd.rmsprop->epsilon);
        per_rate_ = static_cast<Real>(sgd.summed / update.rate);
      }
      const bool still = sgd.of_gradients && update.vanishes();
      kept_ = still ? Real{1} : sgd.from_rest ? Real{0} : momentum_;
      const double rate = update.rate / sgd.summed;
      of_step_ = static_cast<Real>(still ? 0 : sgd.of_gradients ? 1 / rate : 1);
      scale_ = static_cast<Real>(still ? 0 : sgd.of_gradients ? rate : 1);
    }

    GRADRACE_HD const PartMove<Real>& part(std::size_t part) const {
      return part == velocity ? velocity_ : square_;
    }

    template <class Number>
    GRADRACE_HD Number operator()(Number w, Number change, Number (&kept)[number_parts]) const {
      if (square_.to != nullptr && rescaled_) {
        const Number g = change * per_rate_;
        kept[mean_square] = decay_ * kept[mean_square] + (1 - decay_) * g * g;
        change = quotient(change, root(kept[mean_square] + epsilon_));
      }
      if (velocity_.to != nullptr) {
        change *= of_step_;
        const Number v = kept_ * kept[velocity] + change;
        kept[velocity] = v;
        change = scale_ * (nesterov_ ? momentum_ * v + change : v);
      }
      return w - change;
    }

   private:
    PartMove<Real> velocity_, square_;
    bool rescaled_, nesterov_;
    Real momentum_, kept_, of_step_, scale_;
    Real decay_ = 0, epsilon_ = 0, per_rate_ = 0;
  };
};

}  // namespace gradrace
