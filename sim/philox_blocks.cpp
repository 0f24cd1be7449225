#include "sim/philox_blocks.h"

#include <algorithm>
#include <ranges>

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

static void compute_words(Philox::ctr_type first, const Philox::key_type& key,
                          std::span<std::uint32_t> words) {
  for (std::size_t at = 0; at < words.size(); at += 4, ++first[3]) {
    const Philox::ctr_type block = Philox()(first, key);
    std::ranges::copy(std::views::reverse(block.v), words.data() + at);
  }
}

#if defined(__x86_64__)
/// In philox_blocks_avx2.cpp.
void compute_blocks_by_avx2(const Philox::ctr_type& first, const Philox::key_type& key,
                            PhiloxBlocks& blocks);
void compute_words_by_avx2(Philox::ctr_type first, const Philox::key_type& key,
                           std::span<std::uint32_t> words);

static bool has_avx2(InstructionSet set) {
  return set == InstructionSet::avx512 || set == InstructionSet::avx2;
}
#endif

ComputeBlocks philox_blocks_for([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (has_avx2(set)) return compute_blocks_by_avx2;
#endif
  return compute_blocks;
}

ComputeWords philox_words_for([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if (has_avx2(set)) return compute_words_by_avx2;
#endif
  return compute_words;
}

ComputeBlocks chosen_philox_blocks() {
  static const ComputeBlocks chosen = philox_blocks_for(chosen_instruction_set());
  return chosen;
}

void Stream::fill(std::span<std::uint32_t> words) {
  static const ComputeWords compute = philox_words_for(chosen_instruction_set());
  constexpr std::size_t at_once = 4 * PhiloxBlocks::size;
  std::size_t i = 0;
  while (left_ > 0 && i < words.size()) words[i++] = (*this)();
  const std::size_t many = (words.size() - i) / at_once * at_once;
  compute(philox_counter(name_, blocks_), philox_key(name_), words.subspan(i, many));
  blocks_ += static_cast<std::uint32_t>(many / 4);
  for (i += many; i < words.size();) words[i++] = (*this)();
}

}  // namespace gradrace
