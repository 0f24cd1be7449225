#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gradrace {

/// Sixteen hexadecimal digits.
inline std::string hex_text(std::uint64_t number) {
  std::string digits(16, '0');
  for (std::size_t i = 0; i < 16; ++i) digits[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 15];
  return digits;
}

/// FNV-1a of 64 bits, taking a byte or a whole number at a step.
/// Source: Fowler, Noll, Vo; draft-eastlake-fnv.
class Hash {
 public:
  void add(std::uint64_t number) { value_ = (value_ ^ number) * prime; }
  void add_eight_zeros() { value_ *= prime_to_the_eighth; }
  void add_bytes(std::string_view text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
  }
  std::uint64_t value() const { return value_; }
  std::string hex() const { return hex_text(value_); }

 private:
  static constexpr std::uint64_t prime = 0x100000001b3;
  static constexpr std::uint64_t prime_squared = prime * prime;
  static constexpr std::uint64_t prime_to_the_eighth =
      prime_squared * prime_squared * prime_squared * prime_squared;
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace gradrace
