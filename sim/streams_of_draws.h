#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "sim/random.h"

namespace gradrace {

/// The streams of a name and of the draws that follow it, their blocks 0 computed side by side.
class StreamsOfDraws {
 public:
  static constexpr std::uint32_t size = 8;

  explicit StreamsOfDraws(const StreamName& first) : first_(first) {
    check_name(first);
    compute();
  }

  Stream operator[](std::uint32_t i) const {
    return {name(i),
            {{static_cast<std::uint32_t>(words_[0][i]), static_cast<std::uint32_t>(words_[1][i]),
              static_cast<std::uint32_t>(words_[2][i]), static_cast<std::uint32_t>(words_[3][i])}}};
  }

 private:
  StreamName name(std::uint32_t i) const {
    StreamName name = first_;
    name.draw += i;
    return name;
  }

#if defined(__AVX2__)
  /// Four streams: each word is the lower half of a number of 64 bits, whose upper half is ignored.
  struct Four {
    __m256i a, b, c, d;

    /// A round of Philox4x32.
    void turn(const Philox::key_type& key) {
      const __m256i of_a = _mm256_mul_epu32(a, _mm256_set1_epi64x(PHILOX_M4x32_0));
      const __m256i of_c = _mm256_mul_epu32(c, _mm256_set1_epi64x(PHILOX_M4x32_1));
      a = mix(of_c, b, key[0]);
      c = mix(of_a, d, key[1]);
      b = of_c;
      d = of_a;
    }
    static __m256i mix(__m256i product, __m256i other, std::uint32_t key) {
      const __m256i keyed = _mm256_xor_si256(other, _mm256_set1_epi64x(key));
      return _mm256_xor_si256(_mm256_srli_epi64(product, 32), keyed);
    }
  };

  void compute() {
    const Philox::ctr_type counter = philox_counter(first_, 0);
    const auto all = [&](std::uint32_t word) { return _mm256_set1_epi64x(counter[word]); };
    Four left{_mm256_add_epi64(all(0), _mm256_set_epi64x(3, 2, 1, 0)), all(1), all(2), all(3)};
    Four right = left;
    right.a = _mm256_add_epi64(left.a, _mm256_set1_epi64x(4));
    Philox::key_type key = philox_key(first_);
    for (int round = 0; round < 10; ++round) {
      left.turn(key);
      right.turn(key);
      key[0] += PHILOX_W32_0;
      key[1] += PHILOX_W32_1;
    }
    store(left, 0);
    store(right, 4);
  }
  void store(const Four& four, std::uint32_t at) {
    const __m256i words[] = {four.a, four.b, four.c, four.d};
    for (std::uint32_t word = 0; word < 4; ++word) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(&words_[word][at]), words[word]);
    }
  }
#else
  void compute() {
    for (std::uint32_t i = 0; i < size; ++i) {
      const auto block = philox_block(name(i), 0);
      for (std::uint32_t word = 0; word < 4; ++word) words_[word][i] = block[word];
    }
  }
#endif

  StreamName first_;
  alignas(32) std::uint64_t words_[4][size];  // [word][draw], the lower halves
};

}  // namespace gradrace
