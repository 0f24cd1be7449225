#include <doctest/doctest.h>

#include "models/linear.h"
#include "tests/support/emulated_device.h"
#include "tests/support/model_checks.h"

namespace gradrace::captured_work_test {

namespace {

/// So many updates, each with a gradient computed at the value before.
Segment updates_from(std::uint32_t first, std::uint32_t count) {
  Segment segment;
  segment.first_gradient = first;
  for (std::uint32_t i = 0; i < count; ++i) {
    segment.gradients.push_back({first + i, 0, first + i, 0, Fate::used});
    segment.uses.push_back({first + i, 0, 0.1});
    segment.ops.push_back({Op::Kind::update, 0, first + i + 1, first + i, i, 1});
  }
  segment.live = {first + count};
  return segment;
}

/// The parameters after 64 updates, in segments of those lengths.
Vector after_updates(const std::vector<std::uint32_t>& lengths) {
  const auto data = synthetic(R"("rows": 75, "test_rows": 41, "features": 13, "classes": 5)");
  const auto device = make_block_device(make_softmax(on<SoftmaxConfig>(data))->make_float32(),
                                        EmulatedBlocks(1, 0, Execution::at_wait), {});
  const Tape tape{7, 0, {{5, 0.1}}, {{}}};
  device->start({&tape, 1});
  std::uint32_t done = 0;
  for (const std::uint32_t length : lengths) {
    const Segment segment = updates_from(done, length);
    const Segment* const wave = &segment;
    Results results;
    device->replay({&wave, 1}, {&results, 1});
    done += length;
  }
  return device->parameters(0);
}

}  // namespace

TEST_CASE("emulated: captured work is dropped when a list that it reads grows") {
  const Vector w = after_updates({64});
  CHECK(norm(w) > 0);
  CHECK(after_updates({2, 2, 60}) == w);
}

}  // namespace gradrace::captured_work_test
