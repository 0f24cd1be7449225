#include "distributions/fit/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "distributions/fit/estimators.h"
#include "distributions/fit/likelihood.h"
#include "sim/message_text.h"
#include "sim/reading/document.h"
#include "sim/reading/reader.h"

namespace gradrace {
namespace {

std::string list_json(const std::vector<double>& values, int digits) {
  if (values.size() == 1) return short_number(values.front(), digits);
  std::string text;
  for (const double value : values)
    text += (text.empty() ? "[" : ", ") + short_number(value, digits);
  return text + "]";
}

std::string law_json(std::string_view family, const FamilyEstimate::Parameters& parameters,
                     int digits) {
  std::string text = "{\"distribution\": \"" + std::string(family) + "\"";
  for (const auto& [key, values] : parameters)
    text += ", \"" + key + "\": " + list_json(values, digits);
  return text + "}";
}

/// The law that a scenario with that JSON has; null and the first complaint if it may not have it.
DistributionProduct read_law(const std::string& json, std::string& complaint) {
  const auto document = Document::parse("{\"runtime\": " + json + "}", "fit");
  Reader reader(document);
  DistributionProduct law;
  read_kind(reader, "runtime", distribution_catalog(), law, Need::required, "");
  const auto problems = reader.finish();
  if (problems.empty()) return law;
  complaint = problems.front().path + " " + problems.front().what;
  complaint.erase(0, complaint.find('.') + 1);
  return nullptr;
}

FamilyEstimate estimate_of(std::string_view family, const Observations& observed,
                           const Sample& sample) {
  const auto known = std::ranges::find(estimators(), family, &Estimator::family);
  if (observed.whole() && known != estimators().end()) return known->estimate(sample);
  return estimate_by_likelihood(family, observed);
}

/// By AIC, then those without one by distance.
bool ranks_before(const Fit& a, const Fit& b) {
  const bool known[] = {!std::isnan(a.aic), !std::isnan(b.aic)};
  if (known[0] != known[1]) return known[0];
  return known[0] ? a.aic < b.aic : a.kolmogorov < b.kolmogorov;
}

}  // namespace

int digits_for(double variation, int digits) {
  constexpr int most = 17;  // of a double
  const double places = -std::floor(std::log10(std::max(variation, 1e-17)));
  return std::clamp(digits - 2 + static_cast<int>(places), digits, most);
}

double kolmogorov_distance(std::span<const double> sorted, const Distribution& law) {
  return kolmogorov_distance(measured_steps({{sorted.begin(), sorted.end()}}), law, 1);
}

Fits fit_families(std::span<const double> times) {
  return fit_families(Observations{{times.begin(), times.end()}});
}

namespace {

/// The family's fit, or why it is left out.
std::optional<Fit> fitted(const std::string& family, const Observations& observed,
                          const Sample& sample, const MeasuredSteps& steps, std::string& why) {
  const int digits = digits_for(std::sqrt(sample.variance), 10);
  FamilyEstimate estimate = estimate_of(family, observed, sample);
  for (const auto& [key, values] : estimate.parameters) {
    if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
      estimate.refusal = "its " + key + " is no finite number";
  }
  const std::string json =
      estimate.refusal.empty() ? law_json(family, estimate.parameters, digits) : "";
  DistributionProduct law;
  if (estimate.refusal.empty()) law = read_law(json, estimate.refusal);
  why = estimate.refusal;
  if (!law) return {};
  return Fit{family,
             json,
             estimate.method,
             estimate.log_likelihood,
             2 * (estimate.free_parameters - estimate.log_likelihood),
             kolmogorov_distance(steps, *law, observed.slowest_of),
             1,
             law};
}

}  // namespace

std::optional<Fit> fit_family(const std::string& family, const Observations& observed) {
  std::string why;
  return fitted(family, observed, Sample(observed.times), measured_steps(observed), why);
}

double distance_of_rounded(const Observations& observed, const Distribution& law) {
  const MeasuredSteps steps = measured_steps(observed);
  const double half = rounding_of(steps.times) / 2;
  const auto below = [&](double x) { return std::pow(1 - law.survival(x), observed.slowest_of); };
  double distance = 0;
  for (std::size_t i = 0; i + 1 < steps.times.size(); ++i) {
    if (steps.times[i] == steps.times[i + 1]) continue;
    const double x = (steps.times[i] + steps.times[i + 1]) / 2;
    distance = std::max({distance, steps.at[i] - below(x + half), below(x - half) - steps.at[i]});
  }
  return distance;
}

double rounding_of(std::vector<double> times) {
  const double variance = Sample(times).variance * std::pow(Sample(times).scale, 2);
  std::ranges::sort(times);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i] > times[i - 1]) least = std::min(least, times[i] - times[i - 1]);
  }
  return 3 * least <= std::sqrt(variance) ? least : 0;
}

double distance_by_chance(double n) { return 1.36 / std::sqrt(n); }

Fits fit_families(const Observations& observed) {
  const Sample sample(observed.times);
  const MeasuredSteps steps = measured_steps(observed);
  Fits result;
  for (const auto* entry : distribution_catalog().entries) {
    const std::string family(entry->page.name);
    std::string why;
    if (auto fit = fitted(family, observed, sample, steps, why)) {
      result.fits.push_back(std::move(*fit));
    } else {
      result.left_out.push_back({family, why});
    }
  }
  for (Fit& fit : result.fits) {
    for (const Fit& other : result.fits) fit.kolmogorov_rank += other.kolmogorov < fit.kolmogorov;
  }
  std::stable_sort(result.fits.begin(), result.fits.end(), ranks_before);
  return result;
}

}  // namespace gradrace
