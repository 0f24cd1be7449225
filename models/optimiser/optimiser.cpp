#include "models/optimiser/optimiser.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/check.h"
#include "sim/compressor.h"
#include "sim/lane_sum.h"

namespace gradrace {

namespace {

std::shared_ptr<const DelayCompensation> read_delay(Fields& fields) {
  if (!fields.open("delay_compensation", Need::none,
                   "the server adds lambda g g (w - w_read) to a gradient g, number by number: the "
                   "change of the gradient since it was read, its Hessian taken for lambda g g "
                   "(DC-ASGD: Zheng et al., ICML 2017)"))
    return {};
  DelayCompensation delay;
  fields.real("lambda", delay.lambda, Need::required, positive(),
              "factor of g g, in units of 1 / loss; adaptive: of g g over its root mean square");
  fields.flag("adaptive", delay.adaptive, Need::defaulted,
              "lambda / sqrt(m + 1e-7), m the moving mean of g g");
  fields.real("mean_square", delay.mean_square, Need::defaulted, from_below(0, 1),
              "what is left of m at a gradient");
  fields.idle("mean_square",
              !delay.adaptive && delay.mean_square != DelayCompensation().mean_square,
              "is of the adaptive rule", "adaptive: true beside it");
  fields.close();
  return std::make_shared<const DelayCompensation>(delay);
}

template <class Kind>
OptimiserKeys read(Fields& fields) {
  Kind kind;
  std::optional<double> clip;
  double ema = 0;
  kind.visit(fields);
  auto delay = read_delay(fields);
  fields.real("clip", clip, positive(),
              "its learner scales each gradient down to this L2 norm at most, before it is sent "
              "(Pascanu et al., ICML 2013)");
  fields.real("ema", ema, Need::defaulted, from_below(0, 1),
              "what is evaluated is a' = ema a + (1 - ema) w', once per update from a = w_0 "
              "(Chen et al., 2016); training goes on from w'");
  if (!fields.good()) return {};
  return {make_optimiser(kind), clip.value_or(0), ema, std::move(delay)};
}

template <class... Kind>
OptimiserCatalog catalog_of(const std::variant<Kind...>&) {
  static const OptimiserEntry entries[] = {{Kind::page, read<Kind>}...};
  static const OptimiserEntry* const listed[] = {&entries[OptimiserKind(Kind()).index()]...};
  return {"optimisers", "kind", listed, Sgd::page.name};
}

/// f(part, its StatePart, whether a run with these rules has it), for all parts.
template <class Function>
void each_part(std::span<const Rule> rules, const Function& f) {
  with_kind(optimiser_of(rules.front()), [&]<class Kind>(const Kind&) {
    for (std::size_t part = 0; part < std::size(Kind::parts); ++part) {
      bool kept = false;
      for (const Rule& rule : rules) {
        if (!rule.optimiser) continue;  // that keeps nothing
        const Kind* const kind = std::get_if<Kind>(&optimiser_of(rule));
        GRADRACE_CHECK(kind != nullptr, "the rules of a run name one kind of optimiser");
        kept = kept || kind->keeps(part);
      }
      f(part, Kind::parts[part], kept);
    }
  });
}

/// Numbers that the registers of every x86-64 and 64-bit ARM processor hold, computed side by side.
template <class Real>
constexpr std::uint32_t abreast = 16 / sizeof(Real);
template <class Real>
using Abreast [[gnu::vector_size(16)]] = Real;

}  // namespace

template <class Real>
double clip_factor(double clip, std::span<const Real> gradient) {
  const double norm = std::sqrt(lane_sum(gradient.size(), [&](std::size_t j) {
    const double x = gradient[j];
    return x * x;
  }));
  return norm > clip ? clip / norm : 1;
}

template <class Real>
double distance_factor(double distance, std::span<const Real> base, std::span<const Real> at) {
  const double squared = lane_sum(base.size(), [&](std::size_t j) {
    const double x = base[j] - at[j];
    return x * x;
  });
  return std::min(1.0, distance / squared);
}

template <class Real>
void add_compensated(const DelayCompensation& rule, Scaling scaling, std::span<const Real> g,
                     const Real* w, const Real* at, Real* mean_square, Real* sum) {
  const auto weight = static_cast<Real>(scaling.weight), clip = static_cast<Real>(scaling.clip);
  const auto lambda = static_cast<Real>(rule.lambda);
  const auto decay = static_cast<Real>(rule.mean_square), least = static_cast<Real>(1e-7);
  for (std::size_t j = 0; j < g.size(); ++j) {
    const Real sent = clip * g[j], squared = sent * sent;
    Real of = lambda;
    if (rule.adaptive) {
      mean_square[j] = decay * mean_square[j] + (1 - decay) * squared;
      of /= std::sqrt(mean_square[j] + least);
    }
    sum[j] += weight * (sent + of * squared * (w[j] - at[j]));
  }
}

const OptimiserKind& optimiser_of(const Rule& rule) {
  static const OptimiserKind none;
  return rule.optimiser ? rule.optimiser->kind : none;
}

bool divides_by_rate(const OptimiserKind& kind) {
  const Sgd* const sgd = std::get_if<Sgd>(&kind);
  return !sgd || sgd->rmsprop || sgd->of_gradients;
}

std::shared_ptr<const Optimiser> make_optimiser(OptimiserKind kind) {
  return std::make_shared<const Optimiser>(Optimiser{kind});
}

std::shared_ptr<const Optimiser> with_momentum(const OptimiserKind& kind,
                                               std::optional<double> momentum, bool from_rest) {
  std::shared_ptr<const Optimiser> result;
  with_kind(kind, [&](auto changed) {
    if constexpr (requires { changed.momentum, changed.from_rest; }) {
      changed.momentum = momentum.value_or(changed.momentum);
      changed.from_rest = from_rest;
      result = make_optimiser(changed);
    }
  });
  return result;
}

std::shared_ptr<const Optimiser> of_sums(const OptimiserKind& kind, std::uint32_t summed) {
  std::shared_ptr<const Optimiser> result;
  with_kind(kind, [&](auto changed) {
    if constexpr (requires { changed.summed; })
      changed.summed = summed;
    else
      changed.adam.summed = summed;
    result = make_optimiser(changed);
  });
  return result;
}

const OptimiserCatalog& optimiser_catalog() {
  static const OptimiserCatalog catalog = catalog_of(OptimiserKind());
  return catalog;
}

bool remembers_steps(std::span<const Rule> rules) {
  return std::ranges::any_of(rules, [](const Rule& rule) {
    return rule.back && rule.back->memory && !rule.back->compressor->joint();
  });
}

static std::uint64_t in_fours(std::uint64_t n) { return (n + 3) / 4 * 4; }

std::size_t kept_back(std::span<const Rule> rules, std::size_t parameters) {
  std::size_t carried = 0, left_out = 0;
  for (const Rule& rule : rules) {
    if (!rule.back) continue;
    carried = std::max(carried, rule.back->compressor->carried());
    if (rule.back->memory) left_out = parameters;
  }
  return in_fours(carried) + in_fours(left_out);
}

std::size_t kept_of_models(std::span<const Rule> rules, std::span<const Message> messages) {
  if (std::ranges::any_of(
          rules, [](const Rule& rule) { return rule.back && rule.back->compressor->joint(); }))
    return 0;
  std::size_t carried = 0;
  for (const Message& message : messages)
    if (message.compressor) carried = std::max(carried, message.compressor->carried());
  return in_fours(carried);
}

StateLayout layout_of(std::span<const Rule> rules, std::size_t parameters,
                      const Statistics& statistics) {
  const auto d = static_cast<std::uint32_t>(parameters);
  const auto learnt = static_cast<std::uint32_t>(parameters - statistics.count);
  StateLayout layout{d, learnt, in_fours(d), in_fours(d), {}, 0, 0};
  const auto place = [&](std::uint64_t numbers) {
    return std::exchange(layout.numbers, layout.numbers + in_fours(numbers));
  };
  each_part(rules, [&](std::size_t part, const StatePart& of, bool kept) {
    if (kept) layout.parts[part] = place(of.length == StatePart::Length::one ? 1 : learnt);
  });
  if (std::ranges::any_of(rules, [](const Rule& rule) { return rule.ema != 0; }))
    layout.average = place(d);
  if (std::ranges::any_of(rules,
                          [](const Rule& rule) { return rule.delay && rule.delay->adaptive; }))
    layout.mean_square = place(learnt);
  place(kept_back(rules, d));
  return layout;
}

template <class Real>
void complete(std::span<const Rule> rules, const StateLayout& layout, std::span<Real> initial) {
  const StateAt<Real> state = layout.at(initial.data());
  each_part(rules, [&](std::size_t part, const StatePart& of, bool kept) {
    const std::size_t count = of.length == StatePart::Length::one ? 1 : layout.learnt;
    if (kept) std::fill_n(state.parts[part], count, static_cast<Real>(of.start));
  });
  if (state.average) std::copy_n(state.w, layout.parameters, state.average);
  if (layout.mean_square > 0) std::fill_n(&initial[layout.mean_square], layout.learnt, Real{0});
  std::ranges::fill(initial.last(kept_back(rules, layout.parameters)), Real{0});
}

template <class Real>
void apply_rule(const Rule& rule, const StateLayout& layout, double statistics_decay,
                const Update<Real>& update, std::span<const Real> step,
                std::span<const NumberRun> numbers) {
  const Real* const w = update.base.w;
  const Real* const change = step.data();
  Real* const out = update.out.w;
  with_kind(step_of(optimiser_of(rule), update), [&](auto moved) {
    const auto move = [&]<class Number>(Number, std::uint32_t j) {
      store(move_number(moved, j, load<Number>(&w[j]), load<Number>(&change[j])), &out[j]);
    };
    for (auto [j, last] : numbers) {
      const std::uint32_t end = std::min(last, layout.learnt);
      for (; j + abreast<Real> <= end; j += abreast<Real>) move(Abreast<Real>{}, j);
      for (; j < end; ++j) move(Real{}, j);
    }
    once(moved);
  });
  const Merge<Real> merge(statistics_decay, update);
  for (const auto [first, last] : numbers)
    for (std::uint32_t j = std::max(first, layout.learnt); j < last; ++j)
      out[j] = merge(w[j], change[j]);
  if (!update.out.average) return;
  const Follow<Real> follow(rule.ema);
  for (const auto [first, last] : numbers)
    for (std::uint32_t j = first; j < last; ++j)
      update.out.average[j] = follow(update.base.average[j], out[j]);
}

template double clip_factor(double, std::span<const float>);
template double clip_factor(double, std::span<const double>);
template double distance_factor(double, std::span<const float>, std::span<const float>);
template double distance_factor(double, std::span<const double>, std::span<const double>);
template void add_compensated(const DelayCompensation&, Scaling, std::span<const float>,
                              const float*, const float*, float*, float*);
template void add_compensated(const DelayCompensation&, Scaling, std::span<const double>,
                              const double*, const double*, double*, double*);
template void complete(std::span<const Rule>, const StateLayout&, std::span<float>);
template void complete(std::span<const Rule>, const StateLayout&, std::span<double>);
template void apply_rule(const Rule&, const StateLayout&, double, const Update<float>&,
                         std::span<const float>, std::span<const NumberRun>);
template void apply_rule(const Rule&, const StateLayout&, double, const Update<double>&,
                         std::span<const double>, std::span<const NumberRun>);

}  // namespace gradrace
