#pragma once

#include "models/optimiser/adam.h"

namespace gradrace {

/// Adam, whose w' is less by rate weight_decay w: a decay that the moments do not see.
struct AdamW {
  static constexpr Page page{
      .name = "adamw",
      .definition =
          "adam with decoupled weight decay, m^ and v^ as adam has them:\n\n"
          "    w' = w - eta (m^ / (sqrt(v^) + epsilon) + weight_decay w)\n\n"
          "The learning rate multiplies the decay, as in PyTorch; the paper's lambda is its alpha "
          "times weight_decay. All that is learnt decays, biases too. It is no part of the loss, "
          "as "
          "a model's `l2` is.",
      .source = "Loshchilov and Hutter, ICLR 2019, Algorithm 2",
      .example = R"({"kind": "adamw", "weight_decay": 0.01})"};

  Adam adam;
  double weight_decay = 0.01;

  void visit(Fields& fields) {
    adam.visit(fields);
    fields.real("weight_decay", weight_decay, Need::defaulted, at_least(0),
                "w' is less by eta weight_decay w");
  }

  static constexpr auto& parts = Adam::parts;
  static bool keeps(std::size_t part) { return Adam::keeps(part); }

  template <class Real>
  class Step : public Adam::Step<Real> {
   public:
    GRADRACE_HD Step(const AdamW& adamw, const Update<Real>& update)
        : Adam::Step<Real>(adamw.adam, update),
          decay_(update.vanishes()
                     ? Real{0}
                     : static_cast<Real>(update.rate * adamw.weight_decay / adamw.adam.summed)) {}

    template <class Number>
    GRADRACE_HD Number operator()(Number w, Number change, Number (&kept)[number_parts]) const {
      return Adam::Step<Real>::operator()(w - decay_ * w, change, kept);
    }

   private:
    Real decay_;
  };
};

}  // namespace gradrace
