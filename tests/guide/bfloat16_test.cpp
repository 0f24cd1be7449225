#include <doctest/doctest.h>

#include "tests/compression/kinds.h"

namespace gradrace::bfloat16_test {

TEST_CASE(
    "guide: the compression of EXTENDING.md sends 16 bits of a number, and remembers the others") {
  const Message message = message_from(R"({"kind": "bfloat16", "memory": {"decay": 0.5}})");
  CHECK(message.compressor->bytes(1000) == 2000);
  CHECK(message.memory->decay == 0.5);
  CHECK(passed(message, std::vector<double>{1, -1.00390625, 3.14159}) ==
        std::vector<double>{1, -1, 3.140625});
}

}  // namespace gradrace::bfloat16_test
