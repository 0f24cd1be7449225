#include "distributions/fit/fit.h"

#include <algorithm>
#include <cmath>

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
  for (const auto& estimator : estimators()) {
    if (estimator.family != family) continue;
    return observed.whole() ? estimator.estimate(sample) : estimate_by_likelihood(family, observed);
  }
  return {{}, 0, 0, {}, "has no estimator"};
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

Fits fit_families(const Observations& observed) {
  const Sample sample(observed.times);
  const MeasuredSteps steps = measured_steps(observed);
  const int digits = digits_for(std::sqrt(sample.variance), 10);
  Fits result;
  for (const auto* entry : distribution_catalog().entries) {
    const std::string family(entry->page.name);
    FamilyEstimate estimate = estimate_of(family, observed, sample);
    const std::string json = law_json(family, estimate.parameters, digits);
    DistributionProduct law;
    if (estimate.refusal.empty()) law = read_law(json, estimate.refusal);
    if (!law) {
      result.left_out.push_back({family, estimate.refusal});
      continue;
    }
    result.fits.push_back({family, json, estimate.method, estimate.log_likelihood,
                           2 * (estimate.free_parameters - estimate.log_likelihood),
                           kolmogorov_distance(steps, *law, observed.slowest_of), 1, law});
  }
  for (Fit& fit : result.fits) {
    for (const Fit& other : result.fits) fit.kolmogorov_rank += other.kolmogorov < fit.kolmogorov;
  }
  std::stable_sort(result.fits.begin(), result.fits.end(), ranks_before);
  return result;
}

}  // namespace gradrace
