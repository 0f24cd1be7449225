#pragma once

#include <cstdint>
#include <span>

#include "sim/instruction_set.h"
#include "sim/random.h"

namespace gradrace {

/// Blocks of the counters that begin with n, n + 1, ..., computed side by side.
struct PhiloxBlocks {
  static constexpr std::uint32_t size = 8;
  alignas(64) std::uint64_t words[4][size];  // [word][block]: the lower halves
};

/// The same words on every instruction set.
using ComputeBlocks = void (*)(const Philox::ctr_type& first, const Philox::key_type& key,
                               PhiloxBlocks& blocks);
ComputeBlocks philox_blocks_for(InstructionSet set);

/// Those of the instruction set that was chosen at the first call.
ComputeBlocks chosen_philox_blocks();

/// The words of the blocks whose counters end with n, n + 1, ..., each block from its last word to
/// its first; as many as fill `words`, of which there are a multiple of 4 PhiloxBlocks::size.
using ComputeWords = void (*)(Philox::ctr_type first, const Philox::key_type& key,
                              std::span<std::uint32_t> words);
ComputeWords philox_words_for(InstructionSet set);

}  // namespace gradrace
