#include <boost/random/generate_canonical.hpp>

#include "distributions/cluster/persistence.h"

namespace gradrace {
namespace {

constexpr Page page{
    .name = "markov",
    .definition =
        "A learner is normal or slow; slow minibatches take `factor` times as long.  Before each "
        "minibatch but its first a normal learner becomes slow with probability `enter`, a slow "
        "one normal with probability `leave`.  It starts slow with probability pi = enter / "
        "(enter + leave), so that a share pi of all minibatches is slow; slow stretches last 1 / "
        "leave minibatches on average, and the factors of minibatches n apart are correlated "
        "(1 - enter - leave)^n.",
    .source = "the two-state Markov chain",
    .example = R"({"kind": "markov", "factor": 5, "enter": 0.01, "leave": 0.1})",
};

bool happens(double probability, Stream& words) {
  return boost::random::generate_canonical<double, 53>(words) < probability;
}

/// States: 1 slow, 0 normal.
class Markov final : public Persistence {
 public:
  Markov(double factor, double enter, double leave)
      : factor_(factor), enter_(enter), leave_(leave) {}

  double first(Stream& words) const override { return happens(enter_ / (enter_ + leave_), words); }
  double next(double state, Stream& words) const override {
    const bool slow = state != 0;
    return happens(slow ? leave_ : enter_, words) ? !slow : slow;
  }
  double factor(double state) const override { return state != 0 ? factor_ : 1; }

 private:
  double factor_, enter_, leave_;
};

PersistenceProduct read(Fields& fields) {
  double factor = 1, enter = 0, leave = 0;
  fields.real("factor", factor, Need::required, positive(), "multiplies the time of a slow one");
  fields.real("enter", enter, Need::required, between(0, 1), "probability of becoming slow");
  fields.real("leave", leave, Need::required, between(0, 1), "probability of becoming normal");
  if (fields.good() && enter + leave == 0) {
    fields.complain("leave", "must be > 0 where enter is 0, or nothing says how many are slow");
  }
  if (!fields.good()) return nullptr;
  return std::make_shared<Markov>(factor, enter, leave);
}

}  // namespace

extern const PersistenceEntry markov_entry{page, read};

}  // namespace gradrace
