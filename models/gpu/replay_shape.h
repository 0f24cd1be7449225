#pragma once

#include <cstddef>
#include <cstdint>

namespace gradrace {

/// Upper bounds of a cohort.
struct ReplayShape {
  std::size_t runs, parameters;
  std::size_t beside;  // numbers of a state beside w
  std::uint32_t minibatch;
  double statistics_decay;
};

}  // namespace gradrace
