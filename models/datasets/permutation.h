#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "sim/random.h"

namespace gradrace {

/// A pseudorandom order of 0 ... n - 1 that needs no memory: a balanced Feistel network of eight
/// rounds over the next power of four, walked until it falls below n (at most four steps on
/// average once n >= 64).  Integers only, so it is the same on every machine and device.
///
/// Source: Black, Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002 (cycle walking);
/// the round function is the finaliser of MurmurHash3.
class Permutation {
 public:
  /// The order that belongs to the stream's name; n >= 1.
  GRADRACE_HD Permutation(const StreamName& name, std::uint32_t n)
      : n_(n), half_bits_(half_bits(n)), keys_(philox_block(name, 0)) {}

  /// The number at place i < n.
  GRADRACE_HD std::uint32_t operator()(std::uint32_t i) const {
    do i = network(i);
    while (i >= n_);
    return i;
  }

 private:
  static constexpr std::uint32_t rounds = 8;

  /// At least 4: eight rounds of 2 bits leave a bias of 1 % in the order of two numbers, eight of
  /// 4 bits none that 48,000 keys would show.
  GRADRACE_HD static std::uint32_t half_bits(std::uint32_t n) {
    const auto bits = static_cast<std::uint32_t>(std::bit_width(n - 1));
    return bits <= 8 ? 4 : (bits + 1) / 2;
  }

  GRADRACE_HD std::uint32_t network(std::uint32_t x) const {
    std::uint32_t left = x >> half_bits_, right = x & ((1u << half_bits_) - 1);
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const std::uint32_t key = keys_[round % 4] + (round / 4) * 0x9e3779b9u;
      left ^= mix(right ^ key) >> (32 - half_bits_);
      std::swap(left, right);
    }
    return left << half_bits_ | right;
  }

  GRADRACE_HD static std::uint32_t mix(std::uint32_t h) {
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
  }

  std::uint32_t n_, half_bits_;
  std::array<std::uint32_t, 4> keys_;
};

}  // namespace gradrace
