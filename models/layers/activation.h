#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "models/layers/base/layer.h"
#include "sim/reading/fields.h"

namespace gradrace {

/// Key `activation`, read as text.
inline void visit_activation(Fields& fields, std::string& activation, std::string_view meaning) {
  constexpr std::string_view kinds[] = {"relu", "tanh"};
  fields.choice("activation", activation, kinds, Need::defaulted, meaning);
}

inline Activation activation_named(const std::string& name) {
  return name == "tanh" ? Activation::tanh : Activation::relu;
}

/// Standard deviation of a layer's weights at the start: sqrt(2 / fan_in) for relu (He et al., ICCV
/// 2015, eq. 10), sqrt(2 / (fan_in + fan_out)) for tanh (Glorot, Bengio, AISTATS 2010, eq. 12).
inline double initial_sd(Activation f, std::size_t fan_in, std::size_t fan_out) {
  const std::size_t fans = f == Activation::relu ? fan_in : fan_in + fan_out;
  return std::sqrt(2 / static_cast<double>(fans));
}

}  // namespace gradrace
