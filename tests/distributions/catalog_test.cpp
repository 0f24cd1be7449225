#include "distributions/catalog.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/laws.h"

namespace gradrace::catalog_test {
namespace {

TEST_CASE("distribution catalog: the fourteen names of the contract, in its order") {
  const std::vector<std::string_view> names{
      "deterministic", "uniform",   "exponential", "shifted-exponential", "pareto",    "weibull",
      "gamma",         "lognormal", "normal",      "hyperexponential",    "two-point", "mixture",
      "empirical",     "roofline"};
  CHECK(distribution_catalog().names() == names);
  CHECK(distribution_catalog().discriminator == "distribution");
}

TEST_CASE("distribution catalog: every page is filled in and its example makes the law") {
  for (const auto* entry : distribution_catalog().entries) {
    CAPTURE(entry->page.name);
    CHECK_FALSE(entry->page.definition.empty());
    CHECK_FALSE(entry->page.source.empty());
    const std::string named = "{\"distribution\": \"" + std::string(entry->page.name) + "\"";
    CHECK(entry->page.example.substr(0, named.size()) == named);
    CHECK(law_of(std::string(entry->page.example))->mean() > 0);
  }
}

struct Bad {
  const char* json;
  const char* path;
  const char* words;  // in the complaint
};

TEST_CASE("distribution catalog: a law that cannot be is refused at the key that is wrong") {
  const Bad bads[] = {
      {R"({"distribution": "deterministic", "value": 0})", "runtime.value", "> 0"},
      {R"({"distribution": "deterministic"})", "runtime.value", "missing"},
      {R"({"distribution": "uniform", "low": 2, "high": 2})", "runtime.high", "> 2"},
      {R"({"distribution": "uniform", "low": 3, "high": 2})", "runtime.high", "> 3"},
      {R"({"distribution": "uniform", "low": -1, "high": 2})", "runtime.low", ">= 0"},
      {R"({"distribution": "exponential", "mean": -1})", "runtime.mean", "> 0"},
      {R"({"distribution": "exponential", "mean": 0})", "runtime.mean", "> 0"},
      {R"({"distribution": "shifted-exponential", "shift": -1, "mean": 1})", "runtime.shift",
       ">= 0"},
      {R"({"distribution": "shifted-exponential", "shift": 1, "mean": 0})", "runtime.mean", "> 0"},
      {R"({"distribution": "pareto", "scale": 0, "shape": 2})", "runtime.scale", "> 0"},
      {R"({"distribution": "pareto", "scale": 1, "shape": 1})", "runtime.shape", "> 1"},
      {R"({"distribution": "weibull", "scale": 1, "shape": 0})", "runtime.shape", ">= 0.02"},
      {R"({"distribution": "gamma", "shape": 0, "scale": 1})", "runtime.shape", ">= 0.01"},
      {R"({"distribution": "gamma", "shape": 1, "scale": 0})", "runtime.scale", "> 0"},
      {R"({"distribution": "gamma", "mean": 1, "cv": 11})", "runtime.cv", "10"},
      {R"({"distribution": "gamma", "mean": 1})", "runtime.cv", "missing"},
      {R"({"distribution": "gamma", "shape": 1})", "runtime.scale", "missing"},
      {R"({"distribution": "gamma", "shape": 4, "cv": 0.5})", "runtime.cv", "too much"},
      {R"({"distribution": "lognormal", "mu": 0, "sigma": 1, "mean": 1, "cv": 1})", "runtime.mean",
       "in place of mu and sigma"},
      {R"({"distribution": "lognormal", "cv": 1})", "runtime.mean", "missing"},
      {R"({"distribution": "lognormal", "mu": 0, "sigma": 0})", "runtime.sigma", "> 0"},
      {R"({"distribution": "lognormal", "mu": 0, "sigma": 60})", "runtime.sigma", "10"},
      {R"({"distribution": "normal", "mean": 1, "sd": 0})", "runtime.sd", "> 0"},
      {R"({"distribution": "normal", "mean": -5.1, "sd": 1})", "runtime.mean", "-5 sd"},
      {R"({"distribution": "hyperexponential", "probabilities": [0.5, 0.4], "means": [1, 2]})",
       "runtime.probabilities", "sum to 1"},
      {R"({"distribution": "hyperexponential", "probabilities": [0.5, 0.50000001],
           "means": [1, 2]})",
       "runtime.probabilities", "sum to 1"},
      {R"({"distribution": "hyperexponential", "probabilities": [0.5, 0.5], "means": [1]})",
       "runtime.means", "as many"},
      {R"({"distribution": "hyperexponential", "probabilities": [0.5, 0.5], "means": [1, 0]})",
       "runtime.means[1]", "> 0"},
      {R"({"distribution": "two-point", "low": 1, "high": 1, "probability": 0.5})", "runtime.high",
       "> 1"},
      {R"({"distribution": "two-point", "low": 1, "high": 2, "probability": 1.5})",
       "runtime.probability", "0 to 1"},
      {R"({"distribution": "two-point", "low": 0, "high": 2, "probability": 0})",
       "runtime.probability", "greater than 0"},
      {R"({"distribution": "mixture", "weights": [1, 1],
           "parts": [{"distribution": "exponential", "mean": 1}]})",
       "runtime.weights", "as many"},
      {R"({"distribution": "mixture", "weights": [1, -1], "parts": [
           {"distribution": "exponential", "mean": 1}, {"distribution": "exponential", "mean": 2}]})",
       "runtime.weights[1]", "> 0"},
      {R"({"distribution": "mixture", "weights": [1],
           "parts": [{"distribution": "exponential", "mean": -1}]})",
       "runtime.parts[0].mean", "> 0"},
      {R"({"distribution": "mixture", "weights": [1],
           "parts": [{"distribution": "mixture", "weights": [1],
                      "parts": [{"distribution": "pareto", "scale": 1, "shape": 0.9}]}]})",
       "runtime.parts[0].parts[0].shape", "> 1"},
      {R"({"distribution": "roofline", "flop": 0, "flop_rate": 1})", "runtime.flop", "> 0"},
      {R"({"distribution": "roofline", "flop": 1})", "runtime.flop_rate", "missing"},
      {R"({"distribution": "roofline", "flop": 1, "flop_rate": 1, "bytes": 2})", "runtime.bytes",
       "without the other"},
      {R"({"distribution": "roofline", "flop": 1, "flop_rate": 1, "bandwidth": 2})",
       "runtime.bandwidth", "without the other"},
      {R"({"distribution": "roofline", "flop": 1e200, "flop_rate": 1e-200})", "runtime.flop",
       "makes a minibatch take"},
      {R"({"distribution": "roofline", "flop": 1, "flop_rate": 1, "jitter":
           {"distribution": "empirical", "path": "times.csv", "column": "time", "mode": "replay"}})",
       "runtime.jitter", "independently"},
      {R"({"distribution": "exponentail", "mean": 1})", "runtime.distribution", "exponentail"},
  };
  for (const auto& bad : bads) {
    const auto result = read_law(bad.json);
    CAPTURE(std::string(bad.json));
    REQUIRE(result.problems.size() == 1);
    CAPTURE(result.problems.front().text());
    CHECK(result.problems.front().path == bad.path);
    CHECK(result.problems.front().text().find(bad.words) != std::string::npos);
    CHECK(result.law == nullptr);
  }
}

TEST_CASE("distribution catalog: a mixture of nothing is refused") {
  const auto result = read_law(R"({"distribution": "mixture", "weights": [], "parts": []})");
  CHECK_FALSE(result.problems.empty());
  CHECK(result.law == nullptr);
}

TEST_CASE("distribution catalog: probabilities may miss 1 by their last digit") {
  CHECK(law_of(R"({"distribution": "hyperexponential", "means": [1, 1, 1],
                   "probabilities": [0.3333333333, 0.3333333333, 0.3333333334]})")
            ->mean() == doctest::Approx(1).epsilon(1e-14));
}

}  // namespace
}  // namespace gradrace::catalog_test
