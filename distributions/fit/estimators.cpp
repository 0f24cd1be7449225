#include "distributions/fit/estimators.h"

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>

namespace gradrace {
namespace {

constexpr const char* likelihood = "maximum likelihood";

const double log_sqrt_2_pi = std::log(2 * std::numbers::pi) / 2;

/// The place in x > 0 where the rising function passes 0.
template <class Function>
double root_of_rising(Function f, double guess) {
  std::uintmax_t steps = 200;
  const boost::math::tools::eps_tolerance<double> close(50);
  const auto [low, high] =
      boost::math::tools::bracket_and_solve_root(f, guess, 2.0, true, close, steps);
  return (low + high) / 2;
}

/// Mean of f over the times.
template <class Function>
double mean_of(const Sample& sample, Function f) {
  double sum = 0;
  for (const double x : sample.times) sum += f(x);
  return sum / sample.n;
}

/// The log-likelihood per time comes in the unit of the sample's mean.
FamilyEstimate estimate(const Sample& sample, FamilyEstimate::Parameters parameters, int free,
                        double log_likelihood, const char* method = likelihood) {
  return {std::move(parameters),
          free,
          sample.n * (log_likelihood - std::log(sample.scale)),
          method,
          {}};
}

FamilyEstimate refuse(std::string why) { return {{}, 0, 0, {}, std::move(why)}; }

FamilyEstimate fit_uniform(const Sample& sample) {
  const double low = sample.times.front(), high = sample.times.back();
  return estimate(sample, {{"low", {low * sample.scale}}, {"high", {high * sample.scale}}}, 2,
                  -std::log(high - low));
}

FamilyEstimate fit_exponential(const Sample& sample) {
  return estimate(sample, {{"mean", {sample.scale}}}, 1, -1);
}

FamilyEstimate fit_shifted_exponential(const Sample& sample) {
  const double shift = sample.times.front();
  return estimate(sample,
                  {{"shift", {shift * sample.scale}}, {"mean", {(1 - shift) * sample.scale}}}, 2,
                  -1 - std::log(1 - shift));
}

/// scale = the smallest, 1 / shape = mean of log(x / scale).
FamilyEstimate fit_pareto(const Sample& sample) {
  const double log_scale = std::log(sample.times.front());
  const double shape = 1 / (sample.mean_log - log_scale);
  return estimate(sample, {{"scale", {sample.times.front() * sample.scale}}, {"shape", {shape}}}, 2,
                  std::log(shape) + shape * log_scale - (shape + 1) * sample.mean_log);
}

/// The shape k solves sum x^k log x / sum x^k - 1/k = mean log x, rising in k; scale^k = mean x^k.
FamilyEstimate fit_weibull(const Sample& sample) {
  const double most = sample.times.back();
  const double mean_log = sample.mean_log - std::log(most);
  const auto excess = [&](double k) {
    double sum = 0, logs = 0;
    for (const double x : sample.times) {
      const double power = std::pow(x / most, k);
      sum += power;
      logs += power * std::log(x / most);
    }
    return logs / sum - 1 / k - mean_log;
  };
  const double variance_log =
      mean_of(sample, [&](double x) { return std::pow(std::log(x) - sample.mean_log, 2); });
  const double shape =
      root_of_rising(excess, std::numbers::pi / std::sqrt(6 * variance_log));  // by moments of log
  const double mean_power = mean_of(sample, [&](double x) { return std::pow(x / most, shape); });
  const double scale = most * std::pow(mean_power, 1 / shape);
  return estimate(sample, {{"scale", {scale * sample.scale}}, {"shape", {shape}}}, 2,
                  std::log(shape) - shape * std::log(scale) + (shape - 1) * sample.mean_log - 1);
}

/// The shape k solves log k - digamma(k) = log mean - mean log; scale = mean / k.
FamilyEstimate fit_gamma(const Sample& sample) {
  const double s = -sample.mean_log;
  const double guess = (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
  constexpr double most = 1e9;
  if (!(s > 0) || guess > most) return refuse("is not computed for times that vary so little");
  const double k = root_of_rising(
      [&](double shape) { return s + boost::math::digamma(shape) - std::log(shape); }, guess);
  return estimate(sample, {{"shape", {k}}, {"scale", {sample.scale / k}}}, 2,
                  (k - 1) * sample.mean_log - k + k * std::log(k) - std::lgamma(k));
}

FamilyEstimate fit_lognormal(const Sample& sample) {
  const double sigma = std::sqrt(
      mean_of(sample, [&](double x) { return std::pow(std::log(x) - sample.mean_log, 2); }));
  return estimate(sample, {{"mu", {sample.mean_log + std::log(sample.scale)}}, {"sigma", {sigma}}},
                  2, -sample.mean_log - std::log(sigma) - log_sqrt_2_pi - 0.5);
}

/// P(Z > a) of the standard normal law, and its density at a over that.
struct Tail {
  double kept, hazard;
};

Tail tail_from(double a) {
  const double kept = std::erfc(a / std::numbers::sqrt2) / 2;
  return {kept, std::exp(-a * a / 2 - log_sqrt_2_pi) / kept};
}

/// An exponential family in x and x^2, so that mean and variance of the truncated law are those of
/// the sample.  With a = -mean / sd before truncation, variance / mean^2 after it rises with a.
FamilyEstimate fit_normal(const Sample& sample) {
  const auto squared_variation = [](double a) {
    const double h = tail_from(a).hazard;
    return (1 + h * (a - h)) / ((h - a) * (h - a));
  };
  const auto excess = [&](double a) { return squared_variation(a) - sample.variance; };
  constexpr double most = 5;  // of a, as the law is defined
  const double least = -1 / std::sqrt(sample.variance);
  if (!(excess(most) > 0)) return refuse("varies less than these times, wherever it is truncated");
  std::uintmax_t steps = 200;
  const boost::math::tools::eps_tolerance<double> close(50);
  const double at_least = std::min(excess(least), 0.0);
  const auto [low, high] =
      boost::math::tools::toms748_solve(excess, least, most, at_least, excess(most), close, steps);
  const double a = (low + high) / 2;
  const Tail tail = tail_from(a);
  const double sd = 1 / (tail.hazard - a);
  const double z2 = mean_of(sample, [&](double x) { return std::pow(x / sd + a, 2); });
  return estimate(sample, {{"mean", {-a * sd * sample.scale}}, {"sd", {sd * sample.scale}}}, 2,
                  -z2 / 2 - std::log(sd) - log_sqrt_2_pi - std::log(tail.kept));
}

/// For laws without a density.
FamilyEstimate by_moments(FamilyEstimate::Parameters parameters, int free, const char* method) {
  return {std::move(parameters), free, std::numeric_limits<double>::quiet_NaN(), method, {}};
}

FamilyEstimate fit_deterministic(const Sample& sample) {
  return by_moments({{"value", {sample.scale}}}, 1, "moments: mean");
}

/// With skewness g, high has the probability p = (1 - g / sqrt(4 + g^2)) / 2, and high and low are
/// sqrt((1 - p) / p) and sqrt(p / (1 - p)) standard deviations off the mean.
FamilyEstimate fit_two_point(const Sample& sample) {
  const double sd = std::sqrt(sample.variance);
  const double skewness = mean_of(sample, [&](double x) { return std::pow((x - 1) / sd, 3); });
  const double p = (1 - skewness / std::sqrt(4 + skewness * skewness)) / 2;
  const double low = 1 - sd * std::sqrt(p / (1 - p)), high = 1 + sd * std::sqrt((1 - p) / p);
  return by_moments(
      {{"low", {low * sample.scale}}, {"high", {high * sample.scale}}, {"probability", {p}}}, 3,
      "moments: mean, variance, skewness");
}

FamilyEstimate no_family(const Sample&) { return refuse("has no parameters of its own"); }
FamilyEstimate no_work(const Sample&) {
  return refuse("is of work and rates, which no time tells");
}

}  // namespace

Sample::Sample(std::span<const double> values)
    : times(values.begin(), values.end()), n(static_cast<double>(values.size())) {
  std::sort(times.begin(), times.end());
  scale = std::accumulate(times.begin(), times.end(), 0.0) / n;
  for (double& x : times) x /= scale;
  variance = mean_log = 0;
  for (const double x : times) {
    variance += (x - 1) * (x - 1) / n;
    mean_log += std::log(x) / n;
  }
}

std::span<const Estimator> estimators() {
  static constexpr Estimator all[] = {
      {"deterministic", fit_deterministic},
      {"uniform", fit_uniform},
      {"exponential", fit_exponential},
      {"shifted-exponential", fit_shifted_exponential},
      {"pareto", fit_pareto},
      {"weibull", fit_weibull},
      {"gamma", fit_gamma},
      {"lognormal", fit_lognormal},
      {"normal", fit_normal},
      {"two-point", fit_two_point},
      {"mixture", no_family},
      {"empirical", no_family},
      {"roofline", no_work},
  };
  return all;
}

}  // namespace gradrace
