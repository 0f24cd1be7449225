#include "sim/cli/scenario/spaced_values.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace gradrace::spaced_values_test {

using Values = std::vector<double>;

static Values equal_ratios(double from, double to, std::uint64_t count) {
  return SpacedValues{from, to, count, {}}.values();
}
static Values equal_steps(double from, double to, std::uint64_t count) {
  return SpacedValues{from, to, {}, count}.values();
}

TEST_CASE("spaced values: equal ratios have both ends and 12 digits between them") {
  // 10^(i / 3 - 2), by hand of a table of cube roots
  CHECK(equal_ratios(0.01, 1, 7) ==
        Values{0.01, 0.0215443469003, 0.0464158883361, 0.1, 0.215443469003, 0.464158883361, 1});
  CHECK(equal_ratios(1, 64, 7) == Values{1, 2, 4, 8, 16, 32, 64});
  CHECK(equal_ratios(1e-300, 1e300, 7) == Values{1e-300, 1e-200, 1e-100, 1, 1e100, 1e200, 1e300});
  CHECK(equal_ratios(8, 1, 4) == Values{8, 4, 2, 1});
  CHECK(equal_ratios(1.0 / 3, 2.0 / 3, 2) == Values{1.0 / 3, 2.0 / 3});
}

TEST_CASE("spaced values: equal steps have both ends and what is near 0 is 0") {
  CHECK(equal_steps(0, 10, 11) == Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(equal_steps(0.1, 0.7, 7) == Values{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7});
  const Values around = equal_steps(-0.3, 0.3, 7);
  CHECK(around == Values{-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3});
  CHECK_FALSE(std::signbit(around[3]));
  CHECK(equal_steps(1.0 / 3, -1.0 / 3, 3) == Values{1.0 / 3, 0, -1.0 / 3});
  CHECK(equal_steps(1e300, 3e300, 3) == Values{1e300, 2e300, 3e300});
  CHECK(equal_steps(1e-310, 3e-310, 3)[1] == doctest::Approx(2e-310));
}

TEST_CASE("spaced values: equal ratios are those of std::pow to 12 digits") {
  const Values values = equal_ratios(3e-7, 4.5e5, 1000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = 3e-7 * std::pow(1.5e12, static_cast<double>(i) / 999);
    CHECK(std::abs(values[i] / expected - 1) < 6e-12);
  }
}

}  // namespace gradrace::spaced_values_test
