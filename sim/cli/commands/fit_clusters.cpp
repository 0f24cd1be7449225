#include "sim/cli/commands/fit_clusters.h"

#include <cmath>

#include "sim/message_text.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

/// As a scenario has it.
Json rounded(double value, int digits = 6) { return Json::parse(short_number(value, digits)); }

Json lognormal(double mean, double variation) {
  const double variance = std::log1p(variation * variation);
  return {{"distribution", "lognormal"},
          {"mu", rounded(std::log(mean) - variance / 2)},
          {"sigma", rounded(std::sqrt(variance))}};
}

Json deterministic(double mean) {
  return {{"distribution", "deterministic"}, {"value", rounded(mean)}};
}

Json rounded_law(const Fit& fit, double variation) {
  Json law = Json::parse(fit.json);
  for (auto& value : law) {
    if (value.is_number()) value = rounded(value.get<double>(), digits_for(variation, 6));
  }
  return law;
}

}  // namespace

std::size_t learners_of(const TraceFit& fit) {
  return fit.slowest_of > 1 ? fit.slowest_of : fit.trace.series.size();
}

Json fitted_cluster(const TraceFit& fit) {
  Json cluster{{"learners", learners_of(fit)}};
  if (fit.whole() && (fit.structure.persistent() || fit.structure.alternating())) {
    const PersistentLaw law = persistent_law(fit.structure, fit.evened);
    cluster["runtime"] =
        law.variation > 0 ? lognormal(law.mean, law.variation) : deterministic(law.mean);
    cluster["persistence"] = {
        {"kind", "ar1"}, {"correlation", rounded(law.correlation)}, {"sd", rounded(law.sd)}};
  } else {
    cluster["runtime"] = fit.fits.fits.empty()
                             ? deterministic(fit.structure.mean)
                             : rounded_law(fit.fits.fits.front(), fit.variation());
  }
  if (fit.evened) {
    cluster["speeds"] = Json::array();
    for (const double speed : speeds_of(fit.structure)) cluster["speeds"].push_back(rounded(speed));
  }
  if (fit.outliers) {
    cluster["outliers"] = {{"probability", rounded(fit.outliers->probability, 3)},
                           {"runtime", rounded_law(fit.outliers->law, 1)}};
  }
  return cluster;
}

Json replaying_cluster(const TraceFit& fit, const std::filesystem::path& sample) {
  if (!fit.whole()) return nullptr;
  const bool own = fit.source.one_column;
  const auto file = std::filesystem::absolute(own ? fit.trace.file : sample);
  Json runtime{{"distribution", "empirical"},
               {"path", file.lexically_normal().string()},
               {"column", own ? fit.source.times : "time"}};
  const bool several = own ? !fit.source.learner.empty() : fit.trace.series.size() > 1;
  if (several) runtime["learner_column"] = own ? fit.source.learner : "learner";
  runtime["mode"] = "replay";
  if (own && fit.source.scale != 1) runtime["scale"] = fit.source.scale;
  return {{"learners", fit.trace.series.size()}, {"runtime", runtime}};
}

}  // namespace gradrace
