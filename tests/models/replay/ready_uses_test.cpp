#include "models/replay/ready_uses.h"

#include <doctest/doctest.h>

namespace gradrace::ready_uses_test {

namespace {

SlotUse use_of(Slot at) { return {at, 0, false, 0, 0, 0, 1.0}; }

Step update(Slot out, Slot base, std::uint32_t first, std::uint32_t count) {
  return {Step::Kind::update, 0, out, base, first, count};
}

std::pair<std::uint32_t, std::uint32_t> ready(const Program& program, std::size_t step,
                                              std::uint32_t use, std::uint32_t most = 100) {
  const UseRange range = ready_uses(program, step, use, most);
  return {range.first, range.last};
}

using Range = std::pair<std::uint32_t, std::uint32_t>;

}  // namespace

TEST_CASE("ready uses: all of an update, and those after it at values that are there") {
  Program program;
  program.uses = {use_of(0), use_of(0), use_of(1), use_of(2), use_of(0)};
  program.steps = {update(2, 0, 0, 2), update(3, 2, 2, 1), update(4, 3, 3, 1), update(5, 4, 4, 1)};
  CHECK(ready(program, 0, 0) == Range(0, 3));  // use 3 is at the value that update 0 makes
  CHECK(ready(program, 0, 1) == Range(1, 3));
  CHECK(ready(program, 2, 3) == Range(3, 5));
  CHECK(ready(program, 0, 0, 2) == Range(0, 2));
}

TEST_CASE("ready uses: a slot that an average fills is no longer the value that it was") {
  Program program;
  program.uses = {use_of(0), use_of(1), use_of(2)};
  program.steps = {update(3, 0, 0, 1),
                   {Step::Kind::average, 0, 2, 0, 0, 2},
                   {Step::Kind::evaluate, 0, 0, 0, 0, 1},
                   update(4, 1, 1, 1),
                   update(5, 2, 2, 1)};
  CHECK(ready(program, 0, 0) == Range(0, 2));
}

TEST_CASE("ready uses: gradients that are there, or stay, are left to their updates") {
  Program program;
  program.uses = {use_of(0), use_of(0), use_of(0)};
  program.steps = {update(1, 0, 0, 3)};
  program.uses[1].again = true;
  CHECK(ready(program, 0, 0) == Range(0, 1));
  CHECK(ready(program, 0, 1) == Range(1, 1));
  CHECK(ready(program, 0, 2) == Range(2, 3));
  program.uses[2].computed = true;
  CHECK(ready(program, 0, 2) == Range(2, 2));
}

}  // namespace gradrace::ready_uses_test
