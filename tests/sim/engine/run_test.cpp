#include "sim/engine/run.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "models/make_device.h"
#include "tests/support/race_text.h"

namespace gradrace::run_test {

namespace {

/// Diverges with a step of 2.3 / curvature.
Point point_of(const std::string& protocol, const std::string& eta) {
  return point_from(
      R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}},
          "model": {"kind": "quadratic", "curvatures": [1]}, "stop": {"updates": 4000},
          "record": {"every_updates": 7}, "learning_rate": {"kind": "constant", "eta": )" +
      eta + R"(}, "protocol": )" + protocol + "}");
}

const char* const adaptive = R"({"kind": "adasync", "interval": 3, "variant": "k-async", "k0": 8})";

}  // namespace

TEST_CASE("run: the curve is told in order, each evaluation once, and the last is kept") {
  for (const std::string protocol : {R"({"kind": "async"})", adaptive}) {
    for (const std::string eta : {"0.01", "2.3"}) {
      CAPTURE(protocol);
      CAPTURE(eta);
      const Point point = point_of(protocol, eta);
      const Race race = point.race();
      const auto device = make_device(*point.model, {});
      const RaceRecord record = run_race({race, 0, 500}, device.get());
      const bool diverges = eta == "2.3";
      CHECK((record.status == Status::diverged) == diverges);
      REQUIRE(record.curve.size() > 5);
      for (std::size_t i = 1; i < record.curve.size(); ++i) {
        CHECK(record.curve[i].point.time > record.curve[i - 1].point.time);
        CHECK(std::isfinite(record.curve[i - 1].evaluation.loss));
      }
      const auto& [at, found] = record.curve.back();
      CHECK(std::isfinite(found.loss) == !diverges);
      CHECK(at.time == record.totals.time);
      CHECK(at.update == record.totals.updates);
      CHECK(record.last.point.time == at.time);
      CHECK(record.last.point.k == at.k);
      CHECK((record.last.evaluation.loss == found.loss || diverges));
    }
  }
}

}  // namespace gradrace::run_test
