#include "distributions/fit/likelihood.h"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "distributions/fit/nelder_mead.h"

namespace gradrace {
namespace {

using Place = std::vector<double>;  // any numbers, of which a law's parameters are made
using Parameters = FamilyEstimate::Parameters;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double log_sqrt_2_pi = std::log(2 * std::numbers::pi) / 2;

double share(double u) { return 1 / (1 + std::exp(-u)); }

/// Times in units of their mean, ascending.
struct Scaled {
  std::vector<double> times;
  std::vector<bool> cancelled;
  double slowest_of;
  double scale;             // the unit
  double whole = 0;         // how many are not cancelled
  double least = infinity;  // of the whole ones
  double most = 0;          // of all

  bool are_whole() const { return slowest_of == 1 && whole == static_cast<double>(times.size()); }
  double variance() const {
    double sum = 0;
    for (const double x : times) sum += (x - 1) * (x - 1);
    return sum / static_cast<double>(times.size());
  }
  /// The smallest gap between times that differ.
  double least_gap() const {
    double least_so_far = most;
    for (std::size_t i = 1; i < times.size(); ++i)
      if (const double gap = times[i] - times[i - 1]; gap > 0)
        least_so_far = std::min(least_so_far, gap);
    return least_so_far;
  }
};

Scaled scaled(const Observations& observed) {
  const auto& times = observed.times;
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
  const double n = static_cast<double>(times.size());
  Scaled result{{},
                {},
                static_cast<double>(observed.slowest_of),
                std::accumulate(times.begin(), times.end(), 0.0) / n};
  for (const std::size_t i : order) {
    const double x = times[i] / result.scale;
    const bool cancelled = observed.is_cancelled(i);
    result.times.push_back(x);
    result.cancelled.push_back(cancelled);
    result.most = std::max(result.most, x);
    if (cancelled) continue;
    result.whole += 1;
    result.least = std::min(result.least, x);
  }
  return result;
}

// Each family: the number of its parameters, places to start from, the law of a place with
// log_density(x), survival(x) = P(X > x) and below(x) = P(X <= x), and the law's parameters in the
// sample's unit.  Ends of a support keep to the side of the times where the likelihood is positive.

struct Exponential {
  static constexpr int free = 1;
  static std::vector<Place> starts(const Scaled&) { return {{0}}; }
  Exponential(const Place& u, const Scaled&) : mean(std::exp(u[0])) {}
  double log_density(double x) const { return -std::log(mean) - x / mean; }
  double survival(double x) const { return std::exp(-x / mean); }
  double below(double x) const { return -std::expm1(-x / mean); }
  Parameters parameters(double unit) const { return {{"mean", {mean * unit}}}; }
  double mean;
};

struct ShiftedExponential {
  static constexpr int free = 2;
  static std::vector<Place> starts(const Scaled&) { return {{1, 0}, {-3, 0}}; }
  ShiftedExponential(const Place& u, const Scaled& sample)
      : shift(sample.least * share(u[0])), rest(Place{u[1]}, sample) {}
  double log_density(double x) const { return rest.log_density(x - shift); }
  double survival(double x) const { return x <= shift ? 1 : rest.survival(x - shift); }
  double below(double x) const { return x <= shift ? 0 : rest.below(x - shift); }
  Parameters parameters(double unit) const {
    return {{"shift", {shift * unit}}, {"mean", {rest.mean * unit}}};
  }
  double shift;
  Exponential rest;
};

struct Uniform {
  static constexpr int free = 2;
  static std::vector<Place> starts(const Scaled&) { return {{1, -1}, {-3, -5}}; }
  Uniform(const Place& u, const Scaled& sample)
      : low(sample.least * share(u[0])), high(sample.most + std::exp(u[1])) {}
  double log_density(double) const { return -std::log(high - low); }
  double survival(double x) const { return std::min(1.0, (high - x) / (high - low)); }
  double below(double x) const { return std::max(0.0, (x - low) / (high - low)); }
  Parameters parameters(double unit) const {
    return {{"low", {low * unit}}, {"high", {high * unit}}};
  }
  double low, high;
};

struct Pareto {
  static constexpr int free = 2;
  static std::vector<Place> starts(const Scaled&) { return {{1, 1}, {-3, 0}}; }
  Pareto(const Place& u, const Scaled& sample)
      : scale(sample.least * share(u[0])), shape(std::exp(u[1])) {}
  double log_density(double x) const {
    return std::log(shape / scale) - (shape + 1) * std::log(x / scale);
  }
  double survival(double x) const { return x <= scale ? 1 : std::pow(x / scale, -shape); }
  double below(double x) const {
    return x <= scale ? 0 : -std::expm1(-shape * std::log(x / scale));
  }
  Parameters parameters(double unit) const {
    return {{"scale", {scale * unit}}, {"shape", {shape}}};
  }
  double scale, shape;
};

struct Weibull {
  static constexpr int free = 2;
  static std::vector<Place> starts(const Scaled&) { return {{0, 0}, {0, 1.5}}; }
  Weibull(const Place& u, const Scaled&) : scale(std::exp(u[0])), shape(std::exp(u[1])) {}
  double log_density(double x) const {
    return std::log(shape / scale) + (shape - 1) * std::log(x / scale) - power(x);
  }
  double survival(double x) const { return std::exp(-power(x)); }
  double below(double x) const { return -std::expm1(-power(x)); }
  double power(double x) const { return std::pow(x / scale, shape); }
  Parameters parameters(double unit) const {
    return {{"scale", {scale * unit}}, {"shape", {shape}}};
  }
  double scale, shape;
};

using InDouble = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

/// By shape and mean, which hardly depend on each other.
struct Gamma {
  static constexpr int free = 2;
  static std::vector<Place> starts(const Scaled&) { return {{0, 0}, {3, 0}}; }
  Gamma(const Place& u, const Scaled&)
      : shape(std::exp(std::min(u[0], 20.0))), scale(std::exp(u[1]) / shape) {}
  double log_density(double x) const {
    return (shape - 1) * std::log(x / scale) - x / scale - std::lgamma(shape) - std::log(scale);
  }
  double survival(double x) const { return boost::math::gamma_q(shape, x / scale, InDouble()); }
  double below(double x) const { return boost::math::gamma_p(shape, x / scale, InDouble()); }
  Parameters parameters(double unit) const {
    return {{"shape", {shape}}, {"scale", {scale * unit}}};
  }
  double shape, scale;
};

double normal_above(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }

struct Lognormal {
  static constexpr int free = 2;
  static std::vector<Place> starts(const Scaled&) { return {{0, 0}, {0, -2}}; }
  Lognormal(const Place& u, const Scaled&) : mu(u[0]), sigma(std::exp(u[1])) {}
  double z(double x) const { return (std::log(x) - mu) / sigma; }
  double log_density(double x) const {
    return -std::log(x * sigma) - log_sqrt_2_pi - z(x) * z(x) / 2;
  }
  double survival(double x) const { return normal_above(z(x)); }
  double below(double x) const { return normal_above(-z(x)); }
  Parameters parameters(double unit) const {
    return {{"mu", {mu + std::log(unit)}}, {"sigma", {sigma}}};
  }
  double mu, sigma;
};

/// Truncated at 0, which may lie 5 standard deviations above the mean, as the law is defined.
struct Normal {
  static constexpr int free = 2;
  static std::vector<Place> starts(const Scaled&) { return {{1, 0}, {1, -2}}; }
  Normal(const Place& u, const Scaled&)
      : mean(u[0]), sd(std::exp(u[1])), kept(-mean > 5 * sd ? 0 : normal_above(-mean / sd)) {}
  double z(double x) const { return (x - mean) / sd; }
  double log_density(double x) const {
    return -z(x) * z(x) / 2 - std::log(sd) - log_sqrt_2_pi - std::log(kept);
  }
  double survival(double x) const { return normal_above(z(x)) / kept; }
  double below(double x) const { return (normal_above(-z(x)) - normal_above(mean / sd)) / kept; }
  Parameters parameters(double unit) const {
    return {{"mean", {mean * unit}}, {"sd", {sd * unit}}};
  }
  double mean, sd, kept;
};

/// One part is drawn with p.  To start from, of whole times: the law of equal mean and variance
/// whose parts weigh the same, p mean_0 = (1 - p) mean_1, and an exponential law with a tenth of
/// another mean, short or long.
struct Hyperexponential {
  static constexpr int free = 3;
  static std::vector<Place> starts(const Scaled& sample) {
    if (!sample.are_whole()) return {{1, -1, 1}, {3, 0, 2}};
    const auto start = [](double p, double first, double second) {
      return Place{std::log(p / (1 - p)), std::log(first), std::log(second)};
    };
    const double c2 = sample.variance(), p = (1 + std::sqrt((c2 - 1) / (c2 + 1))) / 2;
    std::vector<Place> places{start(p, 1 / (2 * p), 1 / (2 * (1 - p)))};
    for (const double mean : {0.01, 0.05, 0.2, 0.5, 2.0, 4.0, 10.0})
      places.push_back(start(0.9, 1, mean));
    return places;
  }
  Hyperexponential(const Place& u, const Scaled& sample)
      : p(share(u[0])), parts{Exponential({u[1]}, sample), Exponential({u[2]}, sample)} {}
  double mixed(double first, double second) const { return p * first + (1 - p) * second; }
  double log_density(double x) const {
    return std::log(
        mixed(parts[0].survival(x) / parts[0].mean, parts[1].survival(x) / parts[1].mean));
  }
  double survival(double x) const { return mixed(parts[0].survival(x), parts[1].survival(x)); }
  double below(double x) const { return mixed(parts[0].below(x), parts[1].below(x)); }
  /// The likelier part first.
  Parameters parameters(double unit) const {
    const bool first = p >= 0.5;
    const double more = parts[first ? 0 : 1].mean, less = parts[first ? 1 : 0].mean;
    return {{"probabilities", {first ? p : 1 - p, first ? 1 - p : p}},
            {"means", {more * unit, less * unit}}};
  }
  double p;
  Exponential parts[2];
};

template <class Law>
double log_term(const Law& law, double x, bool cancelled, double slowest_of) {
  if (slowest_of == 1) return cancelled ? std::log(law.survival(x)) : law.log_density(x);
  const double survival = law.survival(x);
  const double log_below = survival < 0.5 ? std::log1p(-survival) : std::log(law.below(x));
  if (cancelled) return std::log(-std::expm1(slowest_of * log_below));
  return std::log(slowest_of) + law.log_density(x) + (slowest_of - 1) * log_below;
}

/// Minus the log-likelihood of each `stride`-th time, over their number; infinite where there is
/// none.
template <class Law>
double cost(const Place& place, const Scaled& sample, std::size_t stride) {
  const Law law(place, sample);
  double sum = 0, n = 0;
  for (std::size_t i = stride / 2; i < sample.times.size(); i += stride, n += 1)
    sum += log_term(law, sample.times[i], sample.cancelled[i], sample.slowest_of);
  return std::isfinite(sum) ? -sum / n : infinity;
}

/// Every so many of a large sample's times are enough to begin with.
std::size_t stride_of(const Scaled& sample) {
  constexpr std::size_t enough = 4000;
  return std::max<std::size_t>(1, sample.times.size() / enough);
}

template <class Law>
auto cost_on(const Scaled& sample, std::size_t stride) {
  return [&sample, stride](const Place& place) { return cost<Law>(place, sample, stride); };
}

/// The place that is found from each start on a part of a large sample, the best first.
template <class Law>
std::vector<Minimum> first_places(const Scaled& sample) {
  const auto on_part = cost_on<Law>(sample, stride_of(sample));
  std::vector<Minimum> found;
  for (const Place& start : Law::starts(sample))
    if (std::isfinite(on_part(start))) found.push_back(nelder_mead(on_part, start, 0.5, 1e-7));
  std::ranges::stable_sort(found, {}, &Minimum::value);
  return found;
}

/// The best nearby on the whole sample.  close: of its log-likelihood.
template <class Law>
Minimum best_near(const Minimum& place, const Scaled& sample, double close) {
  const Minimum best = nelder_mead(cost_on<Law>(sample, stride_of(sample)), place.at, 0.2, 1e-9);
  const double share = close / static_cast<double>(sample.times.size());
  return nelder_mead(cost_on<Law>(sample, 1), best.at, 0.02, std::max(share, 1e-13));
}

FamilyEstimate refuse(std::string why) { return {{}, 0, 0, {}, std::move(why)}; }

/// In the unit of the times.
double log_likelihood(const Minimum& found, const Scaled& sample) {
  return -found.value * static_cast<double>(sample.times.size()) -
         sample.whole * std::log(sample.scale);
}

template <class Law>
FamilyEstimate estimate_at(const Minimum& found, const Scaled& sample) {
  return {Law(found.at, sample).parameters(sample.scale),
          Law::free,
          log_likelihood(found, sample),
          "maximum likelihood, searched",
          {}};
}

template <class Law>
FamilyEstimate most_likely(const Scaled& sample) {
  const auto places = first_places<Law>(sample);
  if (places.empty()) return refuse("has no likelihood that is a number for these times");
  return estimate_at<Law>(best_near<Law>(places.front(), sample, 1e-6), sample);
}

/// Whether a part stands for one time, or for some that are equal: the smaller its mean, the denser
/// it is there, whatever the law.
bool collapses(const Hyperexponential& law, const Scaled& sample) {
  const double minibatches = sample.slowest_of * static_cast<double>(sample.times.size());
  const double shortest = sample.slowest_of > 1 ? 0
                          : sample.are_whole()  ? sample.least_gap()
                                                : sample.least;
  return !(std::min(law.p, 1 - law.p) * minibatches >= 2) ||
         !(std::min(law.parts[0].mean, law.parts[1].mean) >= shortest);
}

/// Where the likelihood is greatest of all, but where no part collapses if there is such a place.
FamilyEstimate two_parts(const Scaled& sample) {
  const char* const varies_more =
      "its coefficient of variation is above 1, and that of these times is not";
  if (sample.are_whole() && !(sample.variance() > 1)) return refuse(varies_more);
  constexpr double gain = 0.01;  // of log-likelihood over one part
  const double one = most_likely<Exponential>(sample).log_likelihood;
  for (const Minimum& place : first_places<Hyperexponential>(sample)) {
    const Minimum best = best_near<Hyperexponential>(place, sample, 1e-9);
    FamilyEstimate result = estimate_at<Hyperexponential>(best, sample);
    if (!sample.are_whole() && !(result.log_likelihood > one + gain)) return refuse(varies_more);
    if (collapses(Hyperexponential(best.at, sample), sample)) continue;
    result.method += ", two parts";
    return result;
  }
  return refuse(
      "has a part that collapses onto one time: less than two times in it, or a mean below the "
      "smallest gap between times");
}

/// The moments of the slowest of P; its probability of the high time is 1 - (1 - p)^P.
FamilyEstimate slowest_by_moments(std::string_view family, const Observations& observed) {
  const auto simple = std::ranges::find(estimators(), family, &Estimator::family);
  if (simple == estimators().end()) return refuse("has no estimator");
  FamilyEstimate result = simple->estimate(Sample(observed.times));
  if (result.refusal.empty() && !observed.cancelled.empty())
    return refuse("has no density, and cancelled times have no moments");
  for (auto& [key, values] : result.parameters) {
    if (key == "probability") values[0] = -std::expm1(std::log1p(-values[0]) / observed.slowest_of);
  }
  return result;
}

}  // namespace

FamilyEstimate estimate_by_likelihood(std::string_view family, const Observations& observed) {
  struct Searched {
    std::string_view family;
    FamilyEstimate (*estimate)(const Scaled& sample);
  };
  static constexpr Searched all[] = {
      {"uniform", most_likely<Uniform>},
      {"exponential", most_likely<Exponential>},
      {"shifted-exponential", most_likely<ShiftedExponential>},
      {"pareto", most_likely<Pareto>},
      {"weibull", most_likely<Weibull>},
      {"gamma", most_likely<Gamma>},
      {"lognormal", most_likely<Lognormal>},
      {"normal", most_likely<Normal>},
      {"hyperexponential", two_parts},
  };
  const auto found = std::ranges::find(all, family, &Searched::family);
  if (found != std::end(all)) return found->estimate(scaled(observed));
  return slowest_by_moments(family, observed);
}

}  // namespace gradrace
