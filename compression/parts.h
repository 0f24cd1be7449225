#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/check.h"
#include "sim/compressor.h"
#include "sim/reading/fields.h"

namespace gradrace {

/// What a code cuts a row into, each part with a scale of its own.
struct Parts {
  std::optional<std::uint64_t> bucket = {};  // numbers; none: a tensor is a part
  std::vector<Tensor> tensors = {};          // empty: a row is one

  double count(double numbers) const {
    if (bucket) return std::ceil(numbers / static_cast<double>(*bucket));
    return static_cast<double>(std::max<std::size_t>(1, tensors.size()));
  }

  /// Numbers of the longest part of a row of so many.
  double longest(double numbers) const {
    if (bucket) return std::min(numbers, static_cast<double>(*bucket));
    if (tensors.empty()) return numbers;
    return std::ranges::max(tensors, {}, &Tensor::numbers).numbers();
  }

  /// The sum of f(length) over the parts of a row of so many numbers, in proportion where it is not
  /// that of the tensors.
  template <class Function>
  double sum(double numbers, const Function& f) const {
    if (bucket) {
      const auto length = static_cast<double>(*bucket);
      const double whole = std::floor(numbers / length), rest = numbers - whole * length;
      return (whole > 0 ? whole * f(length) : 0) + (rest > 0 ? f(rest) : 0);
    }
    if (tensors.empty()) return f(numbers);
    double result = 0, all = 0;
    for (const Tensor& tensor : tensors)
      all += tensor.numbers(), result += f(static_cast<double>(tensor.numbers()));
    return all == numbers ? result : result * (numbers / all);
  }

  /// f(part) of each, in their order.
  template <class Real, class Function>
  void each(std::span<Real> row, const Function& f) const {
    if (!bucket && tensors.empty()) return f(row);
    for (std::size_t tensor = 0; !row.empty(); ++tensor) {
      GRADRACE_CHECK(bucket || tensor < tensors.size(), "a row has the tensors that it is made of");
      const std::size_t length = bucket ? *bucket : tensors[tensor].numbers();
      const std::span<Real> part = row.first(std::min(length, row.size()));
      f(part);
      row = row.subspan(part.size());
    }
  }

  void visit(Fields& fields, std::string_view key) {
    bucket = 512;
    fields.integer(key, bucket, "tensor", at_least(1),
                   "numbers that share a scale; tensor: all of a layer's W, or of its b");
  }
};

/// By which a number is sent as it is.
inline constexpr std::uint64_t whole_bits = 32;
/// The most of fewer bits.
inline constexpr std::uint64_t most_packed = 24;

/// A key of a number's bits: so few that they are packed, or 32.
inline void visit_bits(Fields& fields, std::string_view key, std::uint64_t& bits, Need need,
                       std::string_view meaning, std::uint64_t least = 2,
                       std::uint64_t most = most_packed) {
  fields.integer(key, bits, need, between(static_cast<double>(least), whole_bits), meaning);
  if (bits > most && bits < whole_bits)
    fields.complain(key, "must be " + std::to_string(least) + " to " + std::to_string(most) +
                             ", or 32, got " + std::to_string(bits));
}

/// The keys of what is left out say nothing then.
inline void check_whole(Fields& fields, bool whole, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    fields.idle(key, whole, "says nothing of numbers that are sent as they are", "bits below 32");
}

/// s, of either sign.
inline double levels_of(std::uint64_t bits) { return std::exp2(bits - 1) - 1; }

/// Sends numbers as they are.
struct Whole final : CompressorOf<Whole> {
  bool adds(double) const override { return true; }
  double bytes(double numbers) const override { return 4 * numbers; }
  std::optional<double> most_error(double) const override { return 0; }
  std::optional<BlockCode> block_code(std::size_t) const override { return BlockCode{}; }
  template <class Real>
  void make(std::span<Real>, Stream&) const {}
};

/// Of numbers of so many bits each, and of a scale of 32 bits for each part.
inline double packed_bytes(double numbers, double bits, double parts) {
  return std::ceil(numbers * bits / 8) + 4 * parts;
}

}  // namespace gradrace
