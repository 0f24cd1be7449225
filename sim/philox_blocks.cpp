#include "sim/philox_blocks.h"

namespace gradrace {

static void compute_blocks(const Philox::ctr_type& first, const Philox::key_type& key,
                           PhiloxBlocks& blocks) {
  for (std::uint32_t i = 0; i < PhiloxBlocks::size; ++i) {
    Philox::ctr_type counter = first;
    counter[0] += i;
    const Philox::ctr_type block = Philox()(counter, key);
    for (std::uint32_t word = 0; word < 4; ++word) blocks.words[word][i] = block[word];
  }
}

#if defined(__x86_64__)
/// In philox_blocks_avx2.cpp.
void compute_blocks_by_avx2(const Philox::ctr_type& first, const Philox::key_type& key,
                            PhiloxBlocks& blocks);
#endif

ComputeBlocks philox_blocks_for([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512 || set == InstructionSet::avx2) return compute_blocks_by_avx2;
#endif
  return compute_blocks;
}

ComputeBlocks chosen_philox_blocks() {
  static const ComputeBlocks chosen = philox_blocks_for(chosen_instruction_set());
  return chosen;
}

}  // namespace gradrace
