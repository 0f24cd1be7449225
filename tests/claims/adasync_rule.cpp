#include "tests/support/adasync_rule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "sim/message_text.h"
#include "tests/claims/claim.h"

namespace gradrace::adasync_rule_claims {

namespace {

const char* const rule = "derived: the rules of AdaSync, P = 8";

std::string keys(const std::string& variant, std::uint32_t k0) {
  return R"("variant": ")" + variant + R"(", "k0": )" + std::to_string(k0);
}

}  // namespace

TEST_CASE("adasync: K begins at K0, and the quadratic rule stays below P before rounding") {
  for (const std::string variant : {"k-sync", "k-batch-sync", "k-async", "k-batch-async"}) {
    int wrong = 0;
    for (std::uint32_t k0 = 1; k0 <= 8; ++k0) wrong += k_at(adasync(keys(variant, k0)), 1) != k0;
    claim({"dutta-20.start." + variant, rule,
           variant + ": of K0 = 1 to 8 those where K(r = 1) is not K0", exactly(0),
           static_cast<double>(wrong)});
  }
  // The root passes 7.5, where it is rounded up to P, at r = 7.5^2 / 0.5 (P - 1); were it ever
  // above P, it would do so earlier.
  claim({"dutta-20.below", rule, "k-sync, K0 = 1: the r from which K* rounds to P",
         about(7.5 * 7.5 / 0.5 * 7, 1e-6), threshold(adasync(keys("k-sync", 1)), 7)});
  claim({"dutta-20.root", rule, "k-batch-sync, K0 = 1: the r from which K* rounds to P",
         about(7.5 * 7.5, 1e-7), threshold(adasync(keys("k-batch-sync", 1)), 7)});
}

TEST_CASE("adasync: the numerical rule follows the law's own order statistics") {
  for (const std::string law : {"exponential", "shifted-exponential"}) {
    const auto make = adasync(R"("k0": 1, "rule": "numerical")", 8,
                              R"({"distribution": ")" + law + R"(", "mean": 3)" +
                                  (law == "exponential" ? "}" : R"(, "shift": 1})"));
    for (std::uint32_t k = 1; k < 8; ++k) {
      // T(K + 1) - T(K) = 3 / (P - K) against r C (1 / K - 1 / (K + 1)), C = 3 / 7.
      const double r = 7.0 * k * (k + 1) / (8 - k);
      claim({"dutta-20.numerical." + law + "-" + std::to_string(k), rule,
             "k-sync, K0 = 1, numerical, " + law + ": the r from which K is more than " +
                 std::to_string(k),
             about(r, 1e-5 * r), threshold(make, k)});
    }
  }
}

}  // namespace gradrace::adasync_rule_claims
