#include "sim/engine/evaluations.h"

#include <doctest/doctest.h>

namespace gradrace::evaluations_test {

TEST_CASE("evaluations: by time they are due at multiples, from the first on") {
  const EvaluationSchedule every{.every_time = 0.1, .every_updates = {}, .every_epochs = {}};
  Evaluations evaluations(every);
  CHECK(evaluations.by_time());
  for (int i = 1; i <= 1000; ++i) CHECK(evaluations.next_time() == 0.1 * i);
}

TEST_CASE("evaluations: by updates one is due where multiples have been passed, however many") {
  const EvaluationSchedule every{.every_time = {}, .every_updates = 3, .every_epochs = {}};
  Evaluations evaluations(every);
  CHECK(!evaluations.by_time());
  CHECK(evaluations.next_update() == 3);
  CHECK(!evaluations.due(2, 0));
  CHECK(evaluations.due(3, 0));
  CHECK(!evaluations.due(3, 0));
  CHECK(evaluations.due(11, 0));  // past 6 and 9
  CHECK(evaluations.next_update() == 12);
  CHECK(!evaluations.due(11, 0));
  CHECK(evaluations.due(12, 0));
}

TEST_CASE("evaluations: by epochs one is due where multiples have been passed, however many") {
  const EvaluationSchedule every{.every_time = {}, .every_updates = {}, .every_epochs = 0.5};
  Evaluations evaluations(every);
  CHECK(evaluations.next_update() == 0);  // any update may bring it
  CHECK(!evaluations.due(1, 0.49));
  CHECK(evaluations.due(2, 0.5));
  CHECK(!evaluations.due(3, 0.99));
  CHECK(evaluations.due(4, 2.3));
  CHECK(!evaluations.due(5, 2.4));
}

}  // namespace gradrace::evaluations_test
