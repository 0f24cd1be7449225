#include "sim/cli/commands/run_queue.h"

#include <doctest/doctest.h>

#include "sim/cli/scenario/run_work.h"
#include "tests/support/race_text.h"

namespace gradrace::run_queue_test {

namespace {

std::vector<std::size_t> order_of(RunQueue& queue) {
  std::vector<std::size_t> order;
  while (const auto task = queue.take()) order.push_back(task->run);
  return order;
}

double work_of(const std::string& rest) {
  const Point point = point_from(
      R"({"cluster": {"learners": 8, "runtime": {"distribution": "exponential", "mean": 1}}, )"
      R"("learning_rate": {"kind": "constant", "eta": 0.1}, )" +
      rest + "}");
  const std::size_t numbers = point.with_model() ? point.model->value_layout().numbers : 0;
  return run_work(point, point.race(), point.theory(), numbers);
}

}  // namespace

TEST_CASE("run queue: the longest first, equal ones in their order, each once") {
  RunQueue queue({{7, 1, 0}, {1, 5, 0}, {2, 5, 0}, {5, 3, 1}, {0, 1, 0}}, 2);
  CHECK(queue.size() == 5);
  CHECK(order_of(queue) == std::vector<std::size_t>{1, 2, 5, 7, 0});
  CHECK_FALSE(queue.take());
}

TEST_CASE("run queue: a device's further runs are of its group, the longest first") {
  RunQueue queue({{0, 1, 0}, {1, 1, 0}, {2, 5, 1}, {3, 5, 1}, {4, 3, 0}, {5, 3, 0}}, 3);
  CHECK(queue.take_of(0)->run == 4);
  CHECK(queue.take_of(1)->run == 2);
  CHECK(queue.take()->run == 3);
  CHECK_FALSE(queue.take_of(1));
  CHECK_FALSE(queue.take_of(2));
  CHECK(queue.take_of(0)->run == 5);
  CHECK(order_of(queue) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("run work: it grows with gradients, evaluations, parameters, and waits of learners") {
  const std::string softmax =
      R"("model": {"kind": "softmax", "minibatch": 4, "dataset": {"kind": "synthetic", "rows": 100}}, )";
  const std::string mlp =
      R"("model": {"kind": "mlp", "widths": [64], "minibatch": 4, "dataset": {"kind": "synthetic", "rows": 100}}, )";
  const std::string k4 = R"("protocol": {"kind": "k-sync", "k": 4}, )";
  const std::string async = R"("protocol": {"kind": "async"}, )";
  const double base = work_of(softmax + k4 + R"("stop": {"updates": 50})");
  CHECK(work_of(softmax + async + R"("stop": {"updates": 50})") < base);
  CHECK(work_of(softmax + async + R"("stop": {"gradients": 200})") == base);
  CHECK(work_of(softmax + async + R"("stop": {"epochs": 8})") == base);
  CHECK(work_of(softmax + k4 + R"("stop": {"updates": 50}, "record": {"every_updates": 5})") >
        base);
  CHECK(work_of(mlp + k4 + R"("stop": {"updates": 50})") > base);
  // E[X_{8:8}] = 2.72, and async makes 8 updates a unit of time.
  const double sync_time = work_of(R"("protocol": {"kind": "sync"}, "stop": {"time": 100})");
  const double async_time = work_of(async + R"("stop": {"time": 100})");
  CHECK(async_time == doctest::Approx(800));
  CHECK(sync_time == doctest::Approx(800 / 2.717857));
  CHECK(work_of(k4 + R"("stop": {"updates": 100})") == doctest::Approx(800));
}

}  // namespace gradrace::run_queue_test
