#pragma once

#include "models/cpu/kernels/inline.h"
#include "models/cpu/kernels/map_kernels.h"
#include "models/cpu/kernels/some_lanes.h"

/// Batch and response normalisation as map_kernels.h says, of the type Lanes.
namespace gradrace::kernels {
namespace {

/// Calls use(from, how many) for lanes of numbers beside each other, the last of which may be few.
template <class Use>
GRADRACE_INLINE void along_numbers(std::size_t numbers, const Use& use) {
  std::size_t at = 0;
  for (; at + lane_count <= numbers; at += lane_count) use(at, lane_count);
  if (at < numbers) use(at, numbers - at);
}

GRADRACE_INLINE Lanes first_of(Lanes x, std::size_t numbers) {
  return Lanes::select(Lanes::all(static_cast<float>(numbers)) > Lanes::places(), x, Lanes::all(0));
}

/// The sums of S terms: add(from, how many, chain [S]) adds those of some lanes to theirs.
template <int S, class Add>
GRADRACE_INLINE void sum_lanes(std::size_t numbers, float (&sums)[S], const Add& add) {
  Lanes even[S], odd[S];
#pragma GCC unroll 2
  for (int s = 0; s < S; ++s) even[s] = odd[s] = Lanes::all(0);
  std::size_t at = 0;
  for (; at + 2 * lane_count <= numbers; at += 2 * lane_count) {
    add(at, lane_count, even);
    add(at + lane_count, lane_count, odd);
  }
  if (at + lane_count <= numbers) {
    add(at, lane_count, even);
    at += lane_count;
    if (at < numbers) add(at, numbers - at, odd);
  } else if (at < numbers) {
    add(at, numbers - at, even);
  }
#pragma GCC unroll 2
  for (int s = 0; s < S; ++s) sums[s] = (even[s] + odd[s]).total();
}

Moments moments(const float* x, std::size_t numbers) {
  const float count = static_cast<float>(numbers);
  float sum[1], squares[1];
  sum_lanes(numbers, sum, [&](std::size_t at, std::size_t left, Lanes* chain) GRADRACE_ALWAYS {
    chain[0] = chain[0] + some_lanes(x + at, left);
  });
  const Lanes mean = Lanes::all(sum[0] / count);
  sum_lanes(numbers, squares, [&](std::size_t at, std::size_t left, Lanes* chain) GRADRACE_ALWAYS {
    Lanes apart = some_lanes(x + at, left) - mean;
    if (left < lane_count) apart = first_of(apart, left);
    chain[0] = Lanes::fma(apart, apart, chain[0]);
  });
  return {sum[0] / count, squares[0] / count};
}

void normalise(const float* x, std::size_t numbers, float mean, float factor, float b, float* y) {
  const Lanes middle = Lanes::all(mean), times = Lanes::all(factor), plus = Lanes::all(b);
  along_numbers(numbers, [&](std::size_t at, std::size_t left) GRADRACE_ALWAYS {
    put_lanes(Lanes::fma(some_lanes(x + at, left) - middle, times, plus), y + at, left);
  });
}

NormalisedSums normalised_sums(const float* x, const float* dy, std::size_t numbers, float mean) {
  const Lanes middle = Lanes::all(mean);
  float sums[2];
  sum_lanes(numbers, sums, [&](std::size_t at, std::size_t left, Lanes* chain) GRADRACE_ALWAYS {
    const Lanes by_y = some_lanes(dy + at, left);
    chain[0] = chain[0] + by_y;
    chain[1] = Lanes::fma(by_y, some_lanes(x + at, left) - middle, chain[1]);
  });
  return {sums[0], sums[1]};
}

void normalise_back(const float* x, const float* dy, std::size_t numbers, float mean, float by_x,
                    float factor, float constant, float* dx) {
  const Lanes middle = Lanes::all(mean), slope = Lanes::all(by_x), times = Lanes::all(factor),
              plus = Lanes::all(constant);
  along_numbers(numbers, [&](std::size_t at, std::size_t left) GRADRACE_ALWAYS {
    const Lanes of_y = Lanes::fma(some_lanes(dy + at, left), times, plus);
    put_lanes(Lanes::fma(some_lanes(x + at, left) - middle, slope, of_y), dx + at, left);
  });
}

/// Calls use(from, how many, sum) for lanes of numbers [begin, begin + count), which lie in one row
/// of pixels; sum: of a b over `rows` rows from rows_before on, with the pixels left and right of
/// their own, where there are some.
template <int left_ones, int right_ones, class Use>
GRADRACE_INLINE void sum_around(const float* a, const float* b, std::size_t n, std::size_t row,
                                std::size_t rows_before, std::size_t rows, std::size_t begin,
                                std::size_t count, const Use& use) {
  along_numbers(count, [&](std::size_t at, std::size_t left) GRADRACE_ALWAYS {
    Lanes sum = Lanes::all(0);
    std::size_t from = begin + at - rows_before * row;
    for (std::size_t k = 0; k < rows; ++k, from += row) {
#pragma GCC unroll 3
      for (int l = -left_ones; l <= right_ones; ++l) {
        const std::size_t place = from + static_cast<std::size_t>(l) * n;
        sum = Lanes::fma(some_lanes(a + place, left), some_lanes(b + place, left), sum);
      }
    }
    use(begin + at, left, sum);
  });
}

/// The same of all numbers: sums over what there is of the 3 x 3 around.
template <class Use>
GRADRACE_INLINE void each_neighbourhood(const Neighbourhood& shape, std::size_t n, const float* a,
                                        const float* b, const Use& use) {
  const std::size_t row = shape.width * n;
  for (std::size_t c = 0; c < shape.channels; ++c) {
    for (std::size_t i = 0; i < shape.height; ++i) {
      const std::size_t begin = (c * shape.height + i) * row, before = i > 0 ? 1 : 0;
      const std::size_t rows = before + 1 + (i + 1 < shape.height ? 1 : 0);
      if (shape.width == 1) {
        sum_around<0, 0>(a, b, n, row, before, rows, begin, n, use);
        continue;
      }
      sum_around<0, 1>(a, b, n, row, before, rows, begin, n, use);
      sum_around<1, 1>(a, b, n, row, before, rows, begin + n, row - 2 * n, use);
      sum_around<1, 0>(a, b, n, row, before, rows, begin + row - n, n, use);
    }
  }
}

void respond(const Neighbourhood& shape, std::size_t n, float alpha, const float* x, float* y,
             float* p, float* ratio) {
  const Lanes one = Lanes::all(1), times = Lanes::all(alpha);
  each_neighbourhood(shape, n, x, x,
                     [&](std::size_t at, std::size_t left, Lanes squares) GRADRACE_ALWAYS {
                       const Lanes s = Lanes::fma(times, squares, one);
                       const Lanes root = s.root(), power = one / (root * root.root());
                       const Lanes of_x = some_lanes(x + at, left) * power;
                       put_lanes(of_x, y + at, left);
                       put_lanes(power, p + at, left);
                       put_lanes(of_x / s, ratio + at, left);
                     });
}

void respond_back(const Neighbourhood& shape, std::size_t n, float factor, const float* x,
                  const float* dy, const float* p, const float* ratio, float* dx) {
  const Lanes times = Lanes::all(-factor);
  each_neighbourhood(
      shape, n, dy, ratio, [&](std::size_t at, std::size_t left, Lanes around) GRADRACE_ALWAYS {
        const Lanes own = some_lanes(dy + at, left) * some_lanes(p + at, left);
        put_lanes(Lanes::fma(times * some_lanes(x + at, left), around, own), dx + at, left);
      });
}

}  // namespace
}  // namespace gradrace::kernels
