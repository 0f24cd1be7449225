#pragma once

#include "models/gpu/kernels/tiles.h"

/// Maps of images, and how a part of them comes into the memory that a block's threads share.
namespace gradrace::kernels {

GRADRACE_HD constexpr std::uint32_t smaller(std::uint32_t a, std::uint32_t b) {
  return a < b ? a : b;
}

/// A divisor without divisions: of n with n value < 2^32.
struct Divisor {
  std::uint32_t value, inverse;  // 2^32 / value, rounded up

  GRADRACE_HD explicit Divisor(std::uint32_t of)
      : value(of), inverse(of > 1 ? 0xFFFFFFFFu / of + 1 : 0) {}
  GRADRACE_HD std::uint32_t quotient(std::uint32_t n) const {
    return value > 1 ? static_cast<std::uint32_t>(std::uint64_t{n} * inverse >> 32) : n;
  }
  /// rest = rest / value; returns what is left over.
  GRADRACE_HD std::uint32_t next(std::uint32_t& rest) const {
    const std::uint32_t before = rest;
    rest = quotient(rest);
    return before - rest * value;
  }
};

/// Numbers that are read at once.
template <class Real, std::uint32_t count>
struct alignas(count * sizeof(Real) < 16 ? count * sizeof(Real) : 16) Run {
  Real at[count];
};

/// to [count] = from, `width` numbers at once as long as there are so many; width is a power of two
/// and from begins at a multiple of it.
template <std::uint32_t width, std::uint32_t count, class Real>
GRADRACE_HD void read(const Real* from, Real* to) {
  if constexpr (count >= width) {
    const auto run = *reinterpret_cast<const Run<Real, width>*>(from);
    GRADRACE_UNROLL
    for (std::uint32_t i = 0; i < width; ++i) to[i] = run.at[i];
    read<width, count - width>(from + width, to + width);
  } else if constexpr (count > 0) {
    read<width / 2, count>(from, to);
  }
}

/// to = numbers, at once; to begins at a multiple of count.
template <std::uint32_t count, class Real>
GRADRACE_HD void write(const Real (&numbers)[count], Real* to) {
  Run<Real, count> run;
  GRADRACE_UNROLL
  for (std::uint32_t i = 0; i < count; ++i) run.at[i] = numbers[i];
  *reinterpret_cast<Run<Real, count>*>(to) = run;
}

/// Maps [images, channels, height, width].  Derivatives by maps of which each 2 x 2 gave its
/// greatest are kept as those by the greatest, [images, channels, height / 2, width / 2], and which
/// of the four it was.
template <class Real>
struct Maps {
  const Real* numbers;
  const Real* winners;  // null: the maps themselves
  std::uint32_t channels, height, width;

  /// Zero beside the image.
  GRADRACE_HD Real operator()(std::uint32_t image, std::uint32_t channel, std::uint32_t i,
                              std::uint32_t j) const {
    if (i >= height || j >= width) return 0;
    const std::uint32_t plane = image * channels + channel;
    if (winners == nullptr) return numbers[(plane * height + i) * width + j];
    const std::uint32_t from = (plane * (height / 2) + i / 2) * (width / 2) + j / 2;
    return static_cast<std::uint32_t>(winners[from]) == i % 2 * 2 + j % 2 ? numbers[from] : Real{0};
  }
};

/// Some pixels of some channels of some images; rows and columns before the first are below zero.
struct MapPart {
  std::uint32_t first_image, images, first_channel, channels;
  std::int32_t top, left;
  std::uint32_t rows, columns;

  GRADRACE_HD bool has(std::uint32_t row, std::uint32_t column) const {
    return row < rows && column < columns;
  }
};

/// to [count] = 0, count a multiple of four; does not sync.
template <class Block, class Real>
GRADRACE_HD void clear(const Block& block, Real* to, std::uint32_t count) {
  each(block, count / 4, [&](std::uint32_t i) { reinterpret_cast<Run<Real, 4>*>(to)[i] = {}; });
}

/// put(channel, image, row, column, number) for each number of the part that lies in the image,
/// counted from the part's first, of each 2 x 2 that is kept as one for the greatest alone; does
/// not sync.  by_channel: neighbours put neighbouring channels; else they put neighbouring columns.
///
/// Neighbours read `together` numbers each, beside each other.
template <std::uint32_t together, bool by_channel, class Block, class Real, class Put>
GRADRACE_HD void each_number(const Block& block, const Maps<Real>& maps, const MapPart& part,
                             const Put& put) {
  const bool pooled = maps.winners != nullptr;
  const std::uint32_t unit = pooled ? 2 : 1;  // of maps, for one that is kept
  const std::uint32_t height = maps.height / unit, width = maps.width / unit;
  const auto first = [&](std::int32_t at, std::uint32_t of) {
    return at > 0 ? static_cast<std::uint32_t>(at) / of * of / unit : 0;
  };
  const auto end = [&](std::int32_t at, std::uint32_t count, std::uint32_t length) {
    const std::int32_t last = at + static_cast<std::int32_t>(count + unit - 1);
    const std::uint32_t to = last > 0 ? static_cast<std::uint32_t>(last) / unit : 0;
    return to < length ? to : length;
  };
  const std::uint32_t top = first(part.top, unit), bottom = end(part.top, part.rows, height);
  const std::uint32_t left = first(part.left, unit * together);
  const std::uint32_t right = end(part.left, part.columns, width);
  if (top >= bottom || left >= right) return;
  const Divisor channels(by_channel ? part.channels : 1), images(part.images), rows(bottom - top),
      columns((right - left + together - 1) / together);
  const std::uint32_t count = part.channels * part.images * rows.value * columns.value;
  each(block, count, [&](std::uint32_t item) {
    std::uint32_t rest = item;
    const std::uint32_t of_channel = channels.next(rest);
    const std::uint32_t column = left + columns.next(rest) * together, row = top + rows.next(rest);
    const std::uint32_t image = images.next(rest), channel = by_channel ? of_channel : rest;
    const std::uint32_t plane =
        (part.first_image + image) * maps.channels + part.first_channel + channel;
    const std::uint32_t from = (plane * height + row) * width + column;
    const std::uint32_t i = row * unit - static_cast<std::uint32_t>(part.top);
    const std::uint32_t j = column * unit - static_cast<std::uint32_t>(part.left);
    Real numbers[together];
    read<together, together>(maps.numbers + from, numbers);
    if (pooled) {
      const auto winner = static_cast<std::uint32_t>(maps.winners[from]);
      const std::uint32_t at_i = i + winner / 2, at_j = j + winner % 2;
      if (part.has(at_i, at_j)) put(channel, image, at_i, at_j, numbers[0]);
    } else {
      GRADRACE_UNROLL
      for (std::uint32_t k = 0; k < together; ++k)
        if (part.has(i, j + k)) put(channel, image, i, j + k, numbers[k]);
    }
  });
}

/// The same; maps begin at multiples of four numbers.
template <bool by_channel, class Block, class Real, class Put>
GRADRACE_HD void load(const Block& block, const Maps<Real>& maps, const MapPart& part,
                      const Put& put) {
  if (maps.winners == nullptr && maps.width % 4 == 0)
    each_number<4, by_channel>(block, maps, part, put);
  else
    each_number<1, by_channel>(block, maps, part, put);
}

}  // namespace gradrace::kernels
