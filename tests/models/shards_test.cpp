#include <doctest/doctest.h>

#include <string>

#include "tests/support/emulated_device.h"
#include "tests/support/race_text.h"

namespace gradrace::shards_test {

namespace {

Point of_shards(const std::string& partition, const std::string& protocol,
                const std::string& more = "") {
  return point_from(R"({"cluster": {"learners": 5, "speeds": [1, 1, 1, 1, 0.2],
      "runtime": {"distribution": "uniform", "low": 0.9, "high": 1.1}},
    "model": {"kind": "softmax", "minibatch": 8,
              "dataset": {"kind": "synthetic", "rows": 1000, "test_rows": 1000, "partition": )" +
                    partition + R"(}}, "protocol": )" + protocol + more +
                    R"(, "learning_rate": {"kind": "constant", "eta": 0.1},
    "stop": {"updates": 400}, "record": {"every_updates": 400}})");
}

const std::string sync = R"({"kind": "sync"})", k_sync = R"({"kind": "k-sync", "k": 4})";
const std::string few_classes = R"({"kind": "by-class", "classes": 2})";

double error_of(const std::string& partition, const std::string& protocol) {
  return run_training(of_shards(partition, protocol)).curve.back().evaluation.test_error;
}

}  // namespace

TEST_CASE("shards: who waits for four of five loses the classes of a learner that is slow") {
  const double all = error_of(few_classes, sync), four = error_of(few_classes, k_sync);
  CAPTURE(all);
  CAPTURE(four);
  CHECK(four > all + 0.1);  // two of ten classes are the slow one's
  CHECK(error_of(R"({"kind": "iid"})", k_sync) < all + 0.05);
}

TEST_CASE("shards: a run is repeated to the bit, and its replicas differ") {
  const Point point = of_shards(few_classes, k_sync);
  CHECK(run_training(point, 0).hash == run_training(point, 0).hash);
  CHECK(run_training(point, 0).hash != run_training(point, 1).hash);
}

TEST_CASE("shards: a GPU refuses them by name") {
  const Point point = of_shards(few_classes, sync);
  CHECK_THROWS_WITH(
      make_block_device(point.model->make_float32(), EmulatedBlocks(1), {}),
      "emulated: only the CPU computes this model: dataset.partition gives each learner rows of "
      "its own; use --device cpu");
}

}  // namespace gradrace::shards_test
