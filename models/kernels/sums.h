#pragma once

#include "models/kernels/block.h"

namespace gradrace::kernels {

/// The sum of term(i) over i < n, in double: lane by lane, then by halves.
template <class Block, class Term>
GRADRACE_HD double sum(const Block& block, std::uint32_t n, const Term& term) {
  double* const parts = block.template scratch<double>();
  each(block, lanes, [&](std::uint32_t lane) {
    double part = 0;
    for (std::uint32_t i = lane; i < n; i += lanes) part += term(i);
    parts[lane] = part;
  });
  for (std::uint32_t half = lanes / 2; half > 0; half /= 2) {
    block.sync();
    each(block, half, [&](std::uint32_t lane) { parts[lane] += parts[lane + half]; });
  }
  block.sync();
  const double result = parts[0];
  block.sync();
  return result;
}

/// Into how many slices sums of `depth` terms are cut, where there are `sums` of them and a thread
/// makes `together` at once: a power of two.  The parts of one sum stand beside each other in the
/// scratch memory, with a number between those of two so that threads meet in few banks.
GRADRACE_HD constexpr std::uint32_t slices_of(std::uint32_t sums, std::uint32_t together,
                                              std::uint32_t depth) {
  std::uint32_t slices = 1;
  while (slices < 32 && (2 * slices + 1) * sums <= scratch_numbers &&
         sums * slices < lanes * together && 16 * slices <= depth)
    slices *= 2;
  return slices;
}

/// store(i, the sum of term(i, k) over k < depth) for each i < n.
template <class Real, class Block, class Term, class Store>
GRADRACE_HD void sums(const Block& block, std::uint32_t n, std::uint32_t depth, const Term& term,
                      const Store& store) {
  const std::uint32_t slices = slices_of(n, 1, depth);
  Real* const parts = block.template scratch<Real>();
  each(block, n * slices, [&](std::uint32_t item) {
    const std::uint32_t i = item / slices;
    Real part = 0;
    for (std::uint32_t k = item % slices; k < depth; k += slices) part += term(i, k);
    if (slices > 1)
      parts[i * (slices + 1) + item % slices] = part;
    else
      store(i, part);
  });
  block.sync();
  if (slices == 1) return;
  each(block, n, [&](std::uint32_t i) {
    Real total = 0;
    for (std::uint32_t slice = 0; slice < slices; ++slice) total += parts[i * (slices + 1) + slice];
    store(i, total);
  });
  block.sync();
}

/// store(m, n, the sum of a(m, k) b(n, k) over k < depth) for each m < rows and n < columns: a
/// thread makes a tile of 4 x 4 at once, so that each number read enters four products.
template <class Real, class Block, class A, class B, class Store>
GRADRACE_HD void product(const Block& block, std::uint32_t rows, std::uint32_t columns,
                         std::uint32_t depth, const A& a, const B& b, const Store& store) {
  constexpr std::uint32_t side = 4;
  const std::uint32_t across = (columns + side - 1) / side, down = (rows + side - 1) / side;
  const std::uint32_t size = rows * columns, slices = slices_of(size, side * side, depth);
  Real* const parts = block.template scratch<Real>();
  each(block, down * across * slices, [&](std::uint32_t item) {
    const std::uint32_t slice = item % slices, tile = item / slices;
    std::uint32_t m[side], n[side];
    for (std::uint32_t i = 0; i < side; ++i) {  // at the edge some are made twice
      m[i] = tile / across * side + i < rows ? tile / across * side + i : rows - 1;
      n[i] = tile % across * side + i < columns ? tile % across * side + i : columns - 1;
    }
    Real tile_sums[side][side] = {};
    for (std::uint32_t k = slice; k < depth; k += slices) {
      const Real left[side] = {a(m[0], k), a(m[1], k), a(m[2], k), a(m[3], k)};
      const Real right[side] = {b(n[0], k), b(n[1], k), b(n[2], k), b(n[3], k)};
      for (std::uint32_t i = 0; i < side; ++i)
        for (std::uint32_t j = 0; j < side; ++j) tile_sums[i][j] += left[i] * right[j];
    }
    for (std::uint32_t i = 0; i < side; ++i) {
      for (std::uint32_t j = 0; j < side; ++j) {
        if (tile / across * side + i >= rows || tile % across * side + j >= columns) continue;
        if (slices > 1)
          parts[(m[i] * columns + n[j]) * (slices + 1) + slice] = tile_sums[i][j];
        else
          store(m[i], n[j], tile_sums[i][j]);
      }
    }
  });
  block.sync();
  if (slices == 1) return;
  each(block, size, [&](std::uint32_t i) {
    Real total = 0;
    for (std::uint32_t slice = 0; slice < slices; ++slice) total += parts[i * (slices + 1) + slice];
    store(i / columns, i % columns, total);
  });
  block.sync();
}

}  // namespace gradrace::kernels
