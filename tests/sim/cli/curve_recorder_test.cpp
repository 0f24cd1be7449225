#include "sim/cli/results/curve_recorder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/support/race_text.h"
#include "tests/support/temporary_folder.h"

namespace gradrace::curve_recorder_test {

namespace {

Point point_with(const std::string& rest) {
  return point_from(
      R"({"cluster": {"learners": 2, "runtime": {"distribution": "exponential", "mean": 1}},
          "protocol": {"kind": "local-sgd", "tau": 2}, "stop": {"updates": 1}, )" +
      rest + "}");
}

const std::string softmax = R"("model": {"kind": "softmax", "minibatch": 1,
    "dataset": {"kind": "synthetic", "rows": 20, "test_rows": 10}},
    "learning_rate": {"kind": "constant", "eta": 0.1})";

CurvePoint seen(double time, double loss, double test_error) {
  return {{.time = time, .update = 3, .k = 2}, {.loss = loss, .test_error = test_error}};
}

/// Rows of so many cells as CSV has them.
std::string csv_of(const Spool& rows, std::size_t columns) {
  std::string text;
  RowReader reader(columns);
  rows.read([&](std::string_view piece) {
    reader.read(piece, [&](CellRow row) { add_csv_line(text, row); });
  });
  return text;
}

}  // namespace

TEST_CASE("curve recorder: targets are met at the first evaluation at their level or below") {
  const Point point = point_with(
      softmax +
      R"(, "targets": {"loss": [0.5, 0.1, 0.01], "test_error": [0.25]}, "record": {"every_updates": 1})");
  CurveRecorder curve(point, nullptr);
  curve.add(seen(0, 1, 0.9), {});
  curve.add(seen(1, 0.4, 0.3), {});
  curve.add(seen(1.5, 0.6, 0.25), {});
  curve.add(seen(3, 0.1, 0.2), {});
  curve.add(seen(4, std::nan(""), std::nan("")), {});
  REQUIRE(curve.target_times().size() == 4);
  CHECK(curve.target_times()[0] == 1);
  CHECK(curve.target_times()[1] == 3);
  CHECK(std::isnan(curve.target_times()[2]));
  CHECK(curve.target_times()[3] == 1.5);
  CHECK(curve.target_intervals()[0] == 1);
  CHECK(curve.target_intervals()[1] == 1.5);
  CHECK(std::isnan(curve.target_intervals()[2]));
  CHECK(curve.target_intervals()[3] == 0.5);
}

TEST_CASE("curve recorder: a row of the run, then one of each learner that is looked at") {
  const TemporaryFolder folder;
  SpoolFile file(folder.path() / "spool");
  Spool rows(file), plain(file);
  const Point each =
      point_with(softmax + R"(, "record": {"every_updates": 1, "evaluate": "each"})");
  const std::vector<Evaluation> of_learners{{.loss = 0.25}, {.loss = 0.75}};
  CurveRecorder(each, &rows).add(seen(2, 0.5, 0.25), of_learners);
  CHECK(csv_of(rows, 11) ==
        "2,3,0,0,0.5,,0.25,0,2,,\n"
        "2,3,0,0,0.25,,,0,2,,0\n"
        "2,3,0,0,0.75,,,0,2,,1\n");
  const Point timing = point_with(R"("record": {"every_updates": 1})");
  CurveRecorder(timing, &plain).add({{.time = 1}, {}}, {});
  CHECK(csv_of(plain, 10) == "1,0,0,0,,,,0,0,\n");
}

}  // namespace gradrace::curve_recorder_test
