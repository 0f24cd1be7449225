#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "models/layers/kernels/layer.h"
#include "models/sampling/batch.h"
#include "sim/reading/fields.h"

namespace gradrace {

enum class Activation { relu, tanh };

/// Key `activation`, read as text.
inline void visit_activation(Fields& fields, std::string& activation, std::string_view meaning) {
  constexpr std::string_view kinds[] = {"relu", "tanh"};
  fields.choice("activation", activation, kinds, Need::defaulted, meaning);
}

inline Activation activation_named(const std::string& name) {
  return name == "tanh" ? Activation::tanh : Activation::relu;
}

inline kernels::Function kernel_function(Activation f) {
  return f == Activation::tanh ? kernels::Function::tanh : kernels::Function::relu;
}

/// y = f(y).  relu(y) = max(y, 0); what is no number stays so.
template <class Real>
void activate(Activation f, Units<Real>& y) {
  if (f == Activation::tanh) {
    y = y.array().tanh();
    return;
  }
  Real* const at = y.data();
  for (Eigen::Index i = 0; i < y.size(); ++i) at[i] = at[i] < 0 ? 0 : at[i];
}

/// dy = dy f'(z), from y = f(z).  relu'(0) = 0.
template <class Real>
void times_slope(Activation f, const Units<Real>& y, Units<Real>& dy) {
  if (f == Activation::tanh) {
    dy.array() *= 1 - y.array().square();
    return;
  }
  const Real* const value = y.data();
  Real* const at = dy.data();
  for (Eigen::Index i = 0; i < dy.size(); ++i) at[i] = value[i] > 0 ? at[i] : 0;
}

/// Standard deviation of a layer's weights at the start: sqrt(2 / fan_in) for relu (He et al., ICCV
/// 2015, eq. 10), sqrt(2 / (fan_in + fan_out)) for tanh (Glorot, Bengio, AISTATS 2010, eq. 12).
inline double initial_sd(Activation f, std::size_t fan_in, std::size_t fan_out) {
  const std::size_t fans = f == Activation::relu ? fan_in : fan_in + fan_out;
  return std::sqrt(2 / static_cast<double>(fans));
}

}  // namespace gradrace
