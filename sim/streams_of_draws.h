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
    return {name, {{in_block(0, i), in_block(1, i), in_block(2, i), in_block(3, i)}}};
  }

  /// Word number `index` of streams[i], 0 to 3.
  std::uint32_t word(std::uint32_t index, std::uint32_t i) const { return in_block(3 - index, i); }

 private:
  std::uint32_t in_block(std::uint32_t place, std::uint32_t i) const {
    return static_cast<std::uint32_t>(blocks_.words[place][i]);
  }

  StreamName first_;
  PhiloxBlocks blocks_;
};

}  // namespace gradrace
