#include "sim/cli/commands/fit_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "distributions/fit/percent.h"
#include "sim/cli/commands/fit_clusters.h"
#include "sim/cli/results/table.h"
#include "sim/message_text.h"
#include "sim/reading/characters.h"

namespace gradrace {

namespace {

using Json = nlohmann::ordered_json;

/// JSON on one line, a blank after each comma and colon.
std::string on_one_line(const Json& value) {
  if (value.is_number_float()) return number_text(value.get<double>());
  if (value.is_primitive()) return value.dump();
  std::string items;
  for (const auto& [key, item] : value.items()) {
    items += items.empty() ? "" : ", ";
    items += (value.is_object() ? Json(key).dump() + ": " : "") + on_one_line(item);
  }
  return value.is_object() ? "{" + items + "}" : "[" + items + "]";
}

/// A key of a scenario with an object that has a line for each of its keys.
std::string pasted(const std::string& key, const Json& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) {
    text += std::string(text.empty() ? "" : ",") + "\n    \"" + name +
            "\": " + printable(on_one_line(value));
  }
  return "  \"" + key + "\": {" + text + "\n  }\n";
}

std::string known_number(double value, int digits) {
  return std::isnan(value) ? "-" : short_number(value, digits);
}

/// "mu 6.09, sigma 0.0693"
std::string parameters_text(const Fit& fit) {
  const Json law = Json::parse(fit.json);
  std::string text;
  for (const auto& [key, value] : law.items()) {
    if (value.is_string()) continue;
    text += (text.empty() ? "" : ", ") + key;
    if (value.is_number()) text += " " + short_number(value.get<double>());
    if (!value.is_array()) continue;
    for (const auto& number : value) text += " " + short_number(number.get<double>());
  }
  return text;
}

std::vector<double> sorted_without_nan(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  std::sort(values.begin(), values.end());
  return values;
}

/// Smallest, median and greatest; NaN of nothing.
std::array<double, 3> spread_of(const std::vector<double>& values) {
  const auto sorted = sorted_without_nan(values);
  if (sorted.empty()) return {NAN, NAN, NAN};
  const std::size_t n = sorted.size();
  return {sorted.front(), (sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted.back()};
}

double sd_over_mean(const std::vector<double>& times, double mean) {
  double squares = 0;
  for (const double x : times) squares += (x - mean) * (x - mean);
  return std::sqrt(squares / static_cast<double>(times.size())) / mean;
}

std::string learners_table(const TraceFit& fit) {
  std::vector<std::vector<std::string>> rows{{"learner", "times", "mean", "sd / mean", "lag-1"}};
  for (std::size_t i = 0; i < fit.trace.series.size(); ++i) {
    const auto& times = fit.trace.series[i];
    const double mean = fit.all.learner_means[i], lag1 = fit.all.lag1[i];
    rows.push_back({fit.trace.learners[i], std::to_string(times.size()), short_number(mean),
                    short_number(sd_over_mean(times, mean), 2), known_number(lag1, 2)});
  }
  return aligned(rows);
}

std::string families_table(const TraceFit& fit) {
  std::vector<std::vector<std::string>> rows{
      {"family", "AIC", "log-likelihood", "KS", "KS rank", "parameters", "method"}};
  for (const auto& family : fit.fits.fits) {
    rows.push_back({family.family, known_number(family.aic, 6),
                    known_number(family.log_likelihood, 6), short_number(family.kolmogorov, 2),
                    std::to_string(family.kolmogorov_rank), parameters_text(family),
                    family.method});
  }
  return aligned(rows);
}

/// A line for each reason.
std::string left_out_text(const TraceFit& fit) {
  nlohmann::ordered_map<std::string, std::vector<std::string>> families;  // [why]
  for (const auto& [family, why] : fit.fits.left_out) families[why].push_back(family);
  return joined(families, "", [](const auto& one) {
    return "  left out: " + joined(one.second) + ": " + one.first + "\n";
  });
}

std::string verdict_text(const TraceFit& fit) {
  const Structure& s = fit.structure;
  const std::string between = percent(s.share_between) + " of the variance lies between learners";
  const bool by_ranks = &s.autocorrelations() == &s.rank_pooled;
  const std::string lag1 =
      (by_ranks ? "lag-1 autocorrelation of ranks " : "lag-1 autocorrelation ") +
      short_number(s.autocorrelations()[1], 2) + " within a learner";
  switch (fit.verdict) {
    case Verdict::heterogeneous:
      return "static heterogeneity: some learners are slower for good; " + between +
             (s.persistent()    ? "; what is left persists too (" + lag1 + "), but is less"
              : s.alternating() ? "; what is left alternates (" + lag1 + ") but is less"
                                : "");
    case Verdict::persistent:
      return "persistence: a slow learner stays slow for a while; " + lag1 +
             (s.uneven() ? "; some are slower for good too (" + between + ")" : "");
    case Verdict::alternating:
      return "alternation: a slow minibatch is followed by a fast one; " + lag1 +
             (s.uneven() ? "; some are slower for good too (" + between + ")" : "");
    case Verdict::independent:
      return "independent and identically distributed, as far as these times tell; " + lag1 +
             (s.learner_means.size() > 1 ? ", " + between : "");
    case Verdict::assumed:
      return "independent and identically distributed by assumption: " +
             std::string(fit.slowest_of > 1 ? "the slowest of several minibatches"
                                            : "minibatches that were cancelled") +
             " cannot tell";
  }
  return {};
}

/// "; 12 of them of minibatches that were cancelled, each the slowest of 8"
std::string kinds_text(const TraceFit& fit) {
  std::size_t cancelled = 0;
  for (const auto& one : fit.trace.cancelled)
    cancelled += static_cast<std::size_t>(std::count(one.begin(), one.end(), true));
  std::string text;
  if (!fit.trace.cancelled.empty())
    text += "; " + std::to_string(cancelled) + " of them of minibatches that were cancelled";
  if (fit.slowest_of > 1) text += "; each the slowest of " + std::to_string(fit.slowest_of);
  return text;
}

std::string heading(const TraceFit& fit) {
  const TraceSource& source = fit.source;
  return printable(fit.trace.file.string()) + ": " + count_text(fit.trace.size(), "time") + " of " +
         count_text(fit.trace.series.size(), "learner") + kinds_text(fit) +
         "\n  times: " + printable(source.times_told) +
         (source.scale == 1 ? "" : ", times " + short_number(source.scale)) +
         "; learners: " + printable(source.learner_told) + "\n  mean " +
         (fit.whole() ? "" : "as recorded ") + short_number(fit.all.mean) +
         ", standard deviation " + short_number(fit.all.variation, 3) + " of the mean\n";
}

std::string doubts_text(const TraceFit& fit) {
  std::string text;
  for (const auto& note : fit.source.notes) text += "  note: " + printable(note) + "\n";
  for (const auto& doubt : fit.doubts) text += "  warning: " + printable(doubt) + "\n";
  return text;
}

std::string families_text(const TraceFit& fit) {
  if (fit.fits.fits.empty()) return "  a learner's times do not vary: no family is fitted\n";
  std::string text = families_table(fit) + left_out_text(fit) + "  fitted to " +
                     (fit.evened    ? "the times over their learner's mean, times the mean of all\n"
                      : fit.whole() ? "all times as they are\n"
                                    : "all times, as laws of a whole minibatch of one learner\n");
  if (fit.whole() && (fit.structure.persistent() || fit.structure.alternating())) {
    text +=
        "  AIC assumes independent times; these are correlated, so its differences are too large\n"
        "  the fitted cluster has none of these laws: its persistence models the variation" +
        std::string(persistent_law(fit.structure, fit.evened).variation > 0
                        ? ", and a lognormal law the rest\n"
                        : "\n");
  }
  return text;
}

std::string outliers_text(const TraceFit& fit) {
  if (!fit.outliers) return {};
  return "  " + count_text(fit.outliers->count, "time") + " (" +
         percent(fit.outliers->probability) +
         ") far above the others, at random: the families and the cluster as fitted are without "
         "them, and\n  they have a law of their own (outliers); the table of learners has all\n";
}

std::string structure_text(const TraceFit& fit) {
  const Structure& s = fit.structure;
  const bool several = s.learner_means.size() > 1;
  std::string text;
  if (several) {
    text += "  variance between learners: " + percent(s.share_between) + " (by chance " +
            percent(s.share_by_chance) + ")\n";
  }
  text += "  lag-1 autocorrelation, from row to row: " + short_number(s.pooled[1], 2);
  if (const auto spread = spread_of(s.lag1); several && !std::isnan(spread[0])) {
    text += " pooled; of a learner " + short_number(spread[0], 2) + " to " +
            short_number(spread[2], 2) + ", median " + short_number(spread[1], 2);
  }
  return text + "\n  rule: learners differ for good where " + percent(Structure::half) +
         " of the variance or more lies between them.\n  Else slowness persists where the pooled "
         "autocorrelation is " +
         short_number(Structure::persistent_lag1) + " or more, and alternates where it is -" +
         short_number(Structure::persistent_lag1) + " or less.\n  Else learners differ from " +
         percent(Structure::uneven_share) +
         " on.  All of these need more than chance gives: a share of at least three times\n  the "
         "one by chance, an autocorrelation of at least 4 / sqrt(number of times).\n";
}

}  // namespace

std::string fit_report(const TraceFit& fit, const FitAgreement& agreement,
                       const std::filesystem::path& sample) {
  constexpr std::size_t most_learners = 20;
  const std::size_t learners = fit.trace.series.size();
  std::string text = "\n" + heading(fit) + doubts_text(fit) + "\n";
  if (fit.whole() && learners > 1 && learners <= most_learners) text += learners_table(fit) + "\n";
  text += families_text(fit) + outliers_text(fit) + "\n" +
          (fit.whole() ? structure_text(fit) + "\n" : "") + "  " + verdict_text(fit) + "\n\n" +
          agreement_text(agreement) + "\n";
  const char* number = learners_of(fit) > 1 || !fit.source.learner.empty()
                           ? ""
                           : " (write as many learners as there are)";
  const std::string slow = slow_beginning(fit.trace) > 0 ? ", with the slow beginning" : "";
  text += "as fitted" + slow + number + ":\n" + pasted("cluster", fitted_cluster(fit));
  if (!fit.whole()) return text;
  return text + "as measured" + slow + number + ":\n" +
         pasted("cluster", replaying_cluster(fit, sample));
}

static nlohmann::ordered_json agreement_json(const FitAgreement& agreement) {
  auto numbers = nlohmann::ordered_json::object();
  for (const auto& number : agreement.numbers)
    numbers[number.name] = {
        {"value", number.value}, {"low", number.interval.low}, {"high", number.interval.high}};
  return {{"bootstraps", agreement.draws}, {"numbers", numbers}, {"doubts", agreement.doubts}};
}

const CsvFile<Fit> fit_csv{
    "fit.csv",
    "one family of laws fitted to times, the lowest AIC first",
    {{"family", "", "as a scenario names it", &Fit::family},
     {"parameters", "", "the law as a scenario has it", &Fit::json},
     {"log_likelihood", "", "of independent draws", &Fit::log_likelihood},
     {"aic", "", {"the less the better", "2 (number of parameters) - 2 log_likelihood"}, &Fit::aic},
     {"ks",
      "",
      {"greatest distance of the distribution functions", "sup over x of |F_n(x) - F(x)|"},
      &Fit::kolmogorov},
     {"ks_rank", "", "1: the least ks of all", &Fit::kolmogorov_rank},
     {"method", "", "of the estimator", &Fit::method}}};

const CsvFile<MeasuredTime> sample_csv{
    "sample.csv",
    "one measured time",
    {{"learner", "", "as the trace names it", &MeasuredTime::learner},
     {"draw", "", "its number among the learner's, from 0", &MeasuredTime::draw},
     {"time", "time", "as measured", &MeasuredTime::time},
     {"evened",
      "time",
      {"without differences of learners", "time / mean of the learner x mean of all"},
      &MeasuredTime::evened},
     {"cancelled", "", "1: the minibatch was cancelled after that time", &MeasuredTime::cancelled},
     {"outlier", "", "1: far above the others, with a law of its own", &MeasuredTime::outlier}}};

const CsvFile<FittedQuantile> quantiles_csv{
    "quantiles.csv",
    "one of 400 quantiles of a fitted family",
    {{"family", "", "as a scenario names it", &FittedQuantile::family},
     {"p", "fraction", "of draws at or below it", &FittedQuantile::p},
     {"quantile", "time", "of the law, or of the slowest of the draws that a time is of",
      &FittedQuantile::quantile}}};

std::string fit_json(const TraceFit& fit, const FitAgreement& agreement,
                     const std::filesystem::path& sample,
                     const std::map<std::string, std::string>& files) {
  const Structure& s = fit.structure;
  const auto [least, median, most] = spread_of(s.lag1);
  Json left_out = Json::object();
  for (const auto& [family, why] : fit.fits.left_out) left_out[family] = why;
  const char* names[] = {"independent", "static heterogeneity", "persistence", "alternation",
                         "assumed independent"};
  Json json{{"file", std::filesystem::absolute(fit.trace.file).lexically_normal().string()},
            {"hash", fit.trace.hash},
            {"column", fit.source.times},
            {"learner_column", fit.source.learner},
            {"scale", fit.source.scale},
            {"censored", !fit.trace.cancelled.empty()},
            {"slowest_of", fit.slowest_of},
            {"times", fit.trace.size()},
            {"learners", fit.trace.learners},
            {"mean", fit.all.mean},
            {"variation", fit.all.variation},
            {"variation_within", s.variation_within},
            {"share_between", s.share_between},
            {"share_by_chance", s.share_by_chance},
            {"lag1", {{"min", least}, {"median", median}, {"max", most}, {"pooled", s.pooled[1]}}},
            {"verdict", names[static_cast<std::size_t>(fit.verdict)]},
            {"words", verdict_text(fit)},
            {"evened", fit.evened},
            {"left_out", left_out},
            {"cluster", fitted_cluster(fit)},
            {"replay", replaying_cluster(fit, sample)},
            {"warnings", fit.doubts},
            {"notes", fit.source.notes},
            {"agreement", agreement_json(agreement)},
            {"files", files}};
  return json.dump(2) + "\n";
}

std::vector<MeasuredTime> measured_times(const TraceFit& fit) {
  const auto speeds = speeds_of(fit.structure);
  const auto outlying = outlying_times(fit.trace);
  std::vector<MeasuredTime> rows;
  for (std::size_t learner = 0; learner < fit.trace.series.size(); ++learner) {
    const auto& times = fit.trace.series[learner];
    for (std::size_t draw = 0; draw < times.size(); ++draw)
      rows.push_back({fit.trace.learners[learner], draw, times[draw], times[draw] * speeds[learner],
                      !fit.trace.cancelled.empty() && fit.trace.cancelled[learner][draw],
                      fit.outliers.has_value() && outlying[learner][draw]});
  }
  return rows;
}

std::vector<FittedQuantile> fitted_quantiles(const TraceFit& fit) {
  constexpr int most = 400;
  std::vector<FittedQuantile> rows;
  for (const auto& family : fit.fits.fits) {
    for (int i = 0; i < most; ++i) {
      const double p = (i + 0.5) / most;
      const double of_one = std::pow(p, 1.0 / fit.slowest_of);
      rows.push_back({family.family, p, family.law->quantile(of_one)});
    }
  }
  return rows;
}

}  // namespace gradrace
