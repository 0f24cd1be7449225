#include <immintrin.h>

#include "sim/philox_blocks.h"

namespace gradrace {

namespace {

__m256i all_of(std::uint32_t word) { return _mm256_set1_epi64x(word); }

/// Of a round.
struct RoundKey {
  __m256i of_c, of_a;

  RoundKey(const Philox::key_type& key, std::uint32_t round)
      : of_c(all_of(key.v[0] + round * PHILOX_W32_0)),
        of_a(all_of(key.v[1] + round * PHILOX_W32_1)) {}
};

/// Four blocks: each word is the lower half of a number of 64 bits, whose upper half is ignored.
struct FourBlocks {
  __m256i a, b, c, d;

  /// A round of Philox4x32.
  void turn(const RoundKey& key) {
    const __m256i of_a = _mm256_mul_epu32(a, _mm256_set1_epi64x(PHILOX_M4x32_0));
    const __m256i of_c = _mm256_mul_epu32(c, _mm256_set1_epi64x(PHILOX_M4x32_1));
    a = mix(of_c, b, key.of_c);
    c = mix(of_a, d, key.of_a);
    b = of_c;
    d = of_a;
  }
  static __m256i mix(__m256i product, __m256i other, __m256i key) {
    return _mm256_xor_si256(_mm256_srli_epi64(product, 32), _mm256_xor_si256(other, key));
  }
  void store(std::uint64_t (&words)[4][PhiloxBlocks::size], std::uint32_t at) const {
    const __m256i all[] = {a, b, c, d};
    for (std::uint32_t word = 0; word < 4; ++word)
      _mm256_store_si256(reinterpret_cast<__m256i*>(&words[word][at]), all[word]);
  }
  /// The lower halves, block after block, each from d to a.
  void store(std::uint32_t* words) const {
    const __m256i dc = _mm256_blend_epi32(d, _mm256_slli_epi64(c, 32), 0xaa);
    const __m256i ba = _mm256_blend_epi32(b, _mm256_slli_epi64(a, 32), 0xaa);
    const __m256i even = _mm256_unpacklo_epi64(dc, ba), odd = _mm256_unpackhi_epi64(dc, ba);
    const auto at = reinterpret_cast<__m256i*>(words);
    _mm256_storeu_si256(at, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256(at + 1, _mm256_permute2x128_si256(even, odd, 0x31));
  }
};

/// All rounds of both.
template <class KeyOf>
void turn(FourBlocks& left, FourBlocks& right, const KeyOf& key_of) {
  for (std::uint32_t round = 0; round < 10; ++round) {
    const RoundKey& key = key_of(round);
    left.turn(key);
    right.turn(key);
  }
}

}  // namespace

void compute_blocks_by_avx2(const Philox::ctr_type& first, const Philox::key_type& key,
                            PhiloxBlocks& blocks) {
  const std::uint32_t* const counter = &first.v[0];
  FourBlocks left{_mm256_add_epi64(all_of(counter[0]), _mm256_set_epi64x(3, 2, 1, 0)),
                  all_of(counter[1]), all_of(counter[2]), all_of(counter[3])};
  FourBlocks right = left;
  right.a = _mm256_add_epi64(left.a, all_of(4));
  turn(left, right, [&](std::uint32_t round) { return RoundKey(key, round); });
  left.store(blocks.words, 0);
  right.store(blocks.words, 4);
}

void compute_words_by_avx2(Philox::ctr_type first, const Philox::key_type& key,
                           std::span<std::uint32_t> words) {
  const auto of = [&](std::uint32_t round) { return RoundKey(key, round); };
  const RoundKey keys[] = {of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7), of(8), of(9)};
  for (std::size_t at = 0; at < words.size(); at += 32, first.v[3] += 8) {
    FourBlocks left{all_of(first.v[0]), all_of(first.v[1]), all_of(first.v[2]),
                    _mm256_add_epi64(all_of(first.v[3]), _mm256_set_epi64x(3, 2, 1, 0))};
    FourBlocks right = left;
    right.d = _mm256_add_epi64(left.d, all_of(4));
    turn(left, right, [&](std::uint32_t round) -> const RoundKey& { return keys[round]; });
    left.store(words.data() + at);
    right.store(words.data() + at + 16);
  }
}

}  // namespace gradrace
