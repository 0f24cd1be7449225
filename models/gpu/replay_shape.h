#pragma once

#include <cstddef>
#include <cstdint>

namespace gradrace {

/// What a cohort has at the most.
struct ReplayShape {
  std::size_t runs, parameters;
  std::size_t beside;  // numbers that a state has beside w
  std::uint32_t minibatch;
  double statistics_decay;
};

}  // namespace gradrace
