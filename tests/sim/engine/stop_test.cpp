#include "sim/engine/stop.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "sim/evaluation.h"

namespace gradrace::stop_test {

TEST_CASE("stop: a loss or a test error is reached where it equals its limit") {
  Stop loss{}, test_error{}, updates{};
  loss.loss = 0.5;
  test_error.test_error = 0.25;
  updates.updates = 1;
  CHECK(meets({.loss = 0.5}, loss));
  CHECK(meets({.loss = 0.4}, loss));
  CHECK(!meets({.loss = std::nextafter(0.5, 1.0)}, loss));
  CHECK(!meets({.loss = std::numeric_limits<double>::quiet_NaN()}, loss));
  CHECK(meets({.loss = 1, .test_error = 0.25}, test_error));
  CHECK(!meets({.loss = 0, .test_error = 0.26}, test_error));
  CHECK(!meets({.loss = 0, .test_error = 0}, updates));
}

}  // namespace gradrace::stop_test
