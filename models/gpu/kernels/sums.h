#pragma once

#include "models/gpu/kernels/block.h"

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

}  // namespace gradrace::kernels
