#pragma once

#include <cstdint>

#include "sim/philox_blocks.h"
#include "sim/random.h"

namespace gradrace {

/// The streams of a name and of the draws that follow it, their blocks 0 computed side by side.
class StreamsOfDraws {
 public:
  static constexpr std::uint32_t size = PhiloxBlocks::size;

  explicit StreamsOfDraws(const StreamName& first, ComputeBlocks compute = chosen_philox_blocks())
      : first_(first) {
    check_name(first);
    compute(philox_counter(first, 0), philox_key(first), blocks_);
  }

  Stream operator[](std::uint32_t i) const {
    StreamName name = first_;
    name.draw += i;
    return {name, {{word(0, i), word(1, i), word(2, i), word(3, i)}}};
  }

 private:
  std::uint32_t word(std::uint32_t number, std::uint32_t i) const {
    return static_cast<std::uint32_t>(blocks_.words[number][i]);
  }

  StreamName first_;
  PhiloxBlocks blocks_;
};

}  // namespace gradrace
