#pragma once

#include <memory>
#include <optional>
#include <span>

#include "models/optimiser/kinds.h"
#include "models/optimiser/number_run.h"
#include "models/optimiser/statistics.h"
#include "sim/tape.h"

namespace gradrace {

/// What a Rule names.
struct Optimiser {
  OptimiserKind kind;
};

/// Of a rule that names none: sgd.
const OptimiserKind& optimiser_of(const Rule& rule);

/// Whether an update depends on the rate apart from the sum of weight times gradient.
bool divides_by_rate(const OptimiserKind& kind);

/// For a Rule.
std::shared_ptr<const Optimiser> make_optimiser(OptimiserKind kind);

/// That optimiser with another momentum, or none, and its velocity taken for 0 or not; null where
/// it has no momentum.
std::shared_ptr<const Optimiser> with_momentum(const OptimiserKind& kind,
                                               std::optional<double> momentum, bool from_rest);

/// That optimiser, of gradients that are sums of so many.
std::shared_ptr<const Optimiser> of_sums(const OptimiserKind& kind, std::uint32_t summed);

/// What a scenario's `optimiser` says.
struct OptimiserKeys {
  std::shared_ptr<const Optimiser> optimiser;
  double clip = 0;  // of a Recipe
  double ema = 0;   // of a Rule
  std::shared_ptr<const DelayCompensation> delay = {};
};
using OptimiserEntry = Entry<OptimiserKeys>;
using OptimiserCatalog = Catalog<OptimiserKeys>;
const OptimiserCatalog& optimiser_catalog();

/// Of the states of a run with these rules, whose optimisers are of one kind: all that one of them
/// needs.
StateLayout layout_of(std::span<const Rule> rules, std::size_t parameters,
                      const Statistics& statistics);

/// Whether what messages back left out is remembered (Rule::back) in units of steps.
bool remembers_steps(std::span<const Rule> rules);
/// Numbers of a state, its last ones, that are kept of messages back: what their compressor
/// carries, then what they left out [parameters], if that is remembered.
std::size_t kept_back(std::span<const Rule> rules, std::size_t parameters);
/// Numbers of each state besides: at the end of a learner's memory what its messages of models
/// carry.  0 where all learners step together, so that it is in what is kept of messages back.
std::size_t kept_of_models(std::span<const Rule> rules, std::span<const Message> messages);
/// What messages back left out, of the state that begins there.
template <class Real>
Real* memory_back(const StateLayout& layout, Real* state) {
  return state + layout.numbers - (layout.parameters + 3) / 4 * 4;
}

/// Completes the initial state, whose w is set.
template <class Real>
void complete(std::span<const Rule> rules, const StateLayout& layout, std::span<Real> initial);

/// What clipping to that L2 norm leaves of the gradient, statistics apart.
template <class Real>
double clip_factor(double clip, std::span<const Real> gradient);

/// What Rule::distance leaves of the weight of a gradient computed at `at` that moves base,
/// statistics apart.
template <class Real>
double distance_factor(double distance, std::span<const Real> base, std::span<const Real> at);

/// Of a gradient in a sum; clip: what clipping leaves of it.
struct Scaling {
  double weight, clip;
};
/// Adds what the rule makes of g [learnt], so scaled, that was computed at `at` and moves w; moves
/// the mean square, of an adaptive rule.
template <class Real>
void add_compensated(const DelayCompensation& rule, Scaling scaling, std::span<const Real> g,
                     const Real* w, const Real* at, Real* mean_square, Real* sum);

/// Moves those numbers of a state by a rule; step [parameters] is the sum of weight g.  What out
/// held of them is overwritten.
template <class Real>
void apply_rule(const Rule& rule, const StateLayout& layout, double statistics_decay,
                const Update<Real>& update, std::span<const Real> step,
                std::span<const NumberRun> numbers);

}  // namespace gradrace
