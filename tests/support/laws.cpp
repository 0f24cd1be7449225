#include "tests/support/laws.h"

#include <doctest/doctest.h>

#include "sim/reading/reader.h"

namespace gradrace {

ReadLaw read_law(const std::string& json) {
  const auto document = Document::parse("{\"runtime\": " + json + "}", "test.json");
  Reader reader(document, Locator("scenarios"));
  ReadLaw result;
  read_kind(reader, "runtime", distribution_catalog(), result.law, Need::required, "the law");
  result.problems = reader.finish();
  return result;
}

DistributionProduct law_of(const std::string& json) {
  const auto result = read_law(json);
  for (const auto& problem : result.problems) FAIL(problem.text());
  REQUIRE(result.law != nullptr);
  return result.law;
}

const std::vector<std::string>& many_laws() {
  static const auto laws = [] {
    std::vector<std::string> all;
    for (const auto* entry : distribution_catalog().entries) all.emplace_back(entry->page.example);
    for (const char* json : {
             R"({"distribution": "deterministic", "value": 0.001})",
             R"({"distribution": "uniform", "low": 0, "high": 3})",
             R"({"distribution": "exponential", "mean": 20})",
             R"({"distribution": "shifted-exponential", "shift": 0, "mean": 2})",
             R"({"distribution": "shifted-exponential", "shift": 100, "mean": 0.5})",
             R"({"distribution": "pareto", "scale": 0.5, "shape": 1.5})",
             R"({"distribution": "pareto", "scale": 3, "shape": 6})",
             R"({"distribution": "weibull", "scale": 2, "shape": 0.5})",
             R"({"distribution": "weibull", "scale": 2, "shape": 1})",
             R"({"distribution": "weibull", "scale": 0.1, "shape": 8})",
             R"({"distribution": "gamma", "shape": 0.3, "scale": 2})",
             R"({"distribution": "gamma", "shape": 1, "scale": 3})",
             R"({"distribution": "gamma", "shape": 50, "scale": 0.02})",
             R"({"distribution": "gamma", "shape": 10000, "scale": 0.001})",
             R"({"distribution": "lognormal", "mu": 2, "sigma": 0.1})",
             R"({"distribution": "lognormal", "mu": 0, "sigma": 0.001})",
             R"({"distribution": "lognormal", "mu": -1, "sigma": 1})",
             R"({"distribution": "normal", "mean": 0, "sd": 1})",
             R"({"distribution": "normal", "mean": 0.5, "sd": 1})",
             R"({"distribution": "normal", "mean": -4, "sd": 2})",
             R"({"distribution": "normal", "mean": -5, "sd": 1})",
             R"({"distribution": "hyperexponential", "probabilities": 1, "means": 2})",
             R"({"distribution": "hyperexponential", "probabilities": [0.2, 0.3, 0.5],
                 "means": [100, 1, 0.01]})",
             R"({"distribution": "two-point", "low": 0, "high": 2, "probability": 0.5})",
             R"({"distribution": "two-point", "low": 2, "high": 3, "probability": 0.25})",
             R"({"distribution": "two-point", "low": 2, "high": 3, "probability": 1})",
             R"({"distribution": "mixture", "weights": [1, 2, 1], "parts": [
                 {"distribution": "deterministic", "value": 1},
                 {"distribution": "uniform", "low": 0.5, "high": 2},
                 {"distribution": "two-point", "low": 2, "high": 4, "probability": 0.5}]})",
             R"({"distribution": "mixture", "weights": [0.5, 0.5], "parts": [
                 {"distribution": "pareto", "scale": 1, "shape": 5},
                 {"distribution": "mixture", "weights": [3, 1], "parts": [
                     {"distribution": "gamma", "shape": 0.5, "scale": 1},
                     {"distribution": "deterministic", "value": 1}]}]})",
             R"({"distribution": "mixture", "weights": [0.5, 0.5], "parts": [
                 {"distribution": "normal", "mean": 1, "sd": 0.0001},
                 {"distribution": "normal", "mean": 2, "sd": 0.0001}]})",
             R"({"distribution": "empirical", "path": "times.csv", "column": "time",
                 "mode": "block", "learner_column": "learner", "scale": 0.01})",
             R"({"distribution": "mixture", "weights": [0.5, 0.5], "parts": [
                 {"distribution": "empirical", "path": "times.csv", "column": "time"},
                 {"distribution": "gamma", "shape": 4, "scale": 0.5}]})",
             R"({"distribution": "mixture", "weights": [0.999, 0.001], "parts": [
                 {"distribution": "normal", "mean": 1, "sd": 0.001},
                 {"distribution": "deterministic", "value": 1e6}]})",
         }) {
      all.emplace_back(json);
    }
    return all;
  }();
  return laws;
}

}  // namespace gradrace
