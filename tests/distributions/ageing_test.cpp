#include "distributions/ageing.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "tests/support/laws.h"

namespace gradrace::ageing_test {
namespace {

using Known = std::pair<const char*, Ageing>;

const Known known_ageing[] = {
    {R"({"distribution": "deterministic", "value": 2})", Ageing::new_longer},
    {R"({"distribution": "uniform", "low": 0, "high": 2})", Ageing::new_longer},
    {R"({"distribution": "uniform", "low": 1, "high": 20})", Ageing::new_longer},
    {R"({"distribution": "exponential", "mean": 2})", Ageing::memoryless},
    {R"({"distribution": "shifted-exponential", "shift": 0, "mean": 2})", Ageing::memoryless},
    {R"({"distribution": "shifted-exponential", "shift": 0.001, "mean": 2})", Ageing::new_longer},
    {R"({"distribution": "pareto", "scale": 1, "shape": 2})", Ageing::neither},
    {R"({"distribution": "pareto", "scale": 1, "shape": 20})", Ageing::neither},
    {R"({"distribution": "weibull", "scale": 1, "shape": 0.999})", Ageing::new_shorter},
    {R"({"distribution": "weibull", "scale": 3, "shape": 1})", Ageing::memoryless},
    {R"({"distribution": "weibull", "scale": 1, "shape": 1.001})", Ageing::new_longer},
    {R"({"distribution": "weibull", "scale": 1, "shape": 5})", Ageing::new_longer},
    {R"({"distribution": "gamma", "shape": 0.1, "scale": 2})", Ageing::new_shorter},
    {R"({"distribution": "gamma", "shape": 0.999, "scale": 2})", Ageing::new_shorter},
    {R"({"distribution": "gamma", "shape": 1, "scale": 2})", Ageing::memoryless},
    {R"({"distribution": "gamma", "shape": 1.001, "scale": 2})", Ageing::new_longer},
    {R"({"distribution": "gamma", "shape": 30, "scale": 2})", Ageing::new_longer},
    {R"({"distribution": "lognormal", "mu": 0, "sigma": 0.1})", Ageing::neither},
    {R"({"distribution": "lognormal", "mu": 3, "sigma": 0.5})", Ageing::neither},
    {R"({"distribution": "lognormal", "mu": 0, "sigma": 2})", Ageing::neither},
    {R"({"distribution": "normal", "mean": 1, "sd": 0.2})", Ageing::new_longer},
    {R"({"distribution": "normal", "mean": -5, "sd": 1})", Ageing::new_longer},
    {R"({"distribution": "hyperexponential", "probabilities": [0.9, 0.1], "means": [0.5, 5.5]})",
     Ageing::new_shorter},
    {R"({"distribution": "hyperexponential", "probabilities": [0.5, 0.5], "means": [2, 2.01]})",
     Ageing::new_shorter},
    {R"({"distribution": "hyperexponential", "probabilities": [0.5, 0.5], "means": [2, 2]})",
     Ageing::memoryless},
    {R"({"distribution": "two-point", "low": 1, "high": 2, "probability": 0.3})",
     Ageing::new_longer},
    {R"({"distribution": "two-point", "low": 0.1, "high": 0.2, "probability": 0.3})",
     Ageing::new_longer},
    {R"({"distribution": "two-point", "low": 1, "high": 2.001, "probability": 0.3})",
     Ageing::neither},
    {R"({"distribution": "two-point", "low": 0, "high": 2, "probability": 0.3})", Ageing::neither},
    {R"({"distribution": "two-point", "low": 1, "high": 5, "probability": 0})", Ageing::new_longer},
    {R"({"distribution": "two-point", "low": 1, "high": 5, "probability": 1})", Ageing::new_longer},
    // Mixtures of laws of one known ageing, or equal to laws above.
    {R"({"distribution": "mixture", "weights": [1, 2], "parts": [
         {"distribution": "exponential", "mean": 1}, {"distribution": "exponential", "mean": 3}]})",
     Ageing::new_shorter},
    {R"({"distribution": "mixture", "weights": [1, 2], "parts": [
         {"distribution": "exponential", "mean": 3},
         {"distribution": "gamma", "shape": 1, "scale": 3}]})",
     Ageing::memoryless},
    {R"({"distribution": "mixture", "weights": [1, 2], "parts": [
         {"distribution": "weibull", "scale": 1, "shape": 0.5},
         {"distribution": "gamma", "shape": 0.5, "scale": 3}]})",
     Ageing::new_shorter},
    {R"({"distribution": "mixture", "weights": [1], "parts": [
         {"distribution": "weibull", "scale": 1, "shape": 2}]})",
     Ageing::new_longer},
    {R"({"distribution": "mixture", "weights": [7, 3], "parts": [
         {"distribution": "deterministic", "value": 1},
         {"distribution": "deterministic", "value": 2}]})",
     Ageing::new_longer},
    {R"({"distribution": "mixture", "weights": [7, 3], "parts": [
         {"distribution": "deterministic", "value": 1},
         {"distribution": "deterministic", "value": 2.001}]})",
     Ageing::neither},
    {R"({"distribution": "mixture", "weights": [1, 1], "parts": [
         {"distribution": "pareto", "scale": 1, "shape": 2},
         {"distribution": "pareto", "scale": 1, "shape": 2}]})",
     Ageing::neither},
    {R"({"distribution": "mixture", "weights": [9, 1], "parts": [
         {"distribution": "normal", "mean": 1, "sd": 0.1},
         {"distribution": "normal", "mean": 10, "sd": 0.1}]})",
     Ageing::neither},
};

TEST_CASE("ageing: every law says what theory says of it") {
  for (const auto& [json, ageing] : known_ageing) {
    CAPTURE(std::string(json));
    CHECK(law_of(json)->ageing() == ageing);
  }
}

TEST_CASE("ageing on a grid: the survival function alone tells the same") {
  for (const auto& [json, ageing] : known_ageing) {
    CAPTURE(std::string(json));
    CHECK(ageing_on_grid(*law_of(json)) == ageing);
  }
}

}  // namespace
}  // namespace gradrace::ageing_test
