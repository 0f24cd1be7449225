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

/// Into how many slices sums of `depth` terms are cut, where there are `sums` of them: a power of
/// two.  The parts of one sum stand beside each other in the scratch memory, with a number between
/// those of two so that threads meet in few banks.
GRADRACE_HD constexpr std::uint32_t slices_of(std::uint32_t sums, std::uint32_t depth) {
  std::uint32_t slices = 1;
  while (slices < 32 && (2 * slices + 1) * sums <= scratch_numbers && sums * slices < lanes &&
         16 * slices <= depth)
    slices *= 2;
  return slices;
}

/// store(i, the sum of term(i, k) over k < depth) for each i < n.
template <class Real, class Block, class Term, class Store>
GRADRACE_HD void sums(const Block& block, std::uint32_t n, std::uint32_t depth, const Term& term,
                      const Store& store) {
  const std::uint32_t slices = slices_of(n, depth);
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

}  // namespace gradrace::kernels
