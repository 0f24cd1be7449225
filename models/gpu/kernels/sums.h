#pragma once

#include "models/gpu/kernels/block.h"

namespace gradrace::kernels {

/// All term(i) of i < n and 0, one joined to the other, in double: lane by lane, then by halves.
template <class Block, class Term, class Join>
GRADRACE_HD double joined(const Block& block, std::uint32_t n, const Term& term, const Join& join) {
  double* const parts = block.template scratch<double>();
  each(block, lanes, [&](std::uint32_t lane) {
    double part = 0;
    for (std::uint32_t i = lane; i < n; i += lanes) part = join(part, term(i));
    parts[lane] = part;
  });
  for (std::uint32_t half = lanes / 2; half > 0; half /= 2) {
    block.sync();
    each(block, half,
         [&](std::uint32_t lane) { parts[lane] = join(parts[lane], parts[lane + half]); });
  }
  block.sync();
  const double result = parts[0];
  block.sync();
  return result;
}

/// The sum of term(i) over i < n.
template <class Block, class Term>
GRADRACE_HD double sum(const Block& block, std::uint32_t n, const Term& term) {
  return joined(block, n, term, [](double a, double b) { return a + b; });
}

/// The greatest term(i) of i < n, which are not below 0; NaN if one is.
template <class Block, class Term>
GRADRACE_HD double greatest(const Block& block, std::uint32_t n, const Term& term) {
  return joined(block, n, term, [](double a, double b) { return b > a || b != b ? b : a; });
}

}  // namespace gradrace::kernels
