#pragma once

#include <cstdint>

namespace gradrace {

/// As models/layers/loss.h has them.
enum class LossKind : std::uint8_t { cross_entropy, logistic, half_square, hinge };

}  // namespace gradrace
