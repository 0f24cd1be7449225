#pragma once

#include "models/cpu/kernels/convolutions.h"
#include "models/cpu/kernels/few_outputs.h"
#include "models/cpu/kernels/losses.h"
#include "models/cpu/kernels/normalisations.h"
#include "models/cpu/kernels/poolings.h"
#include "models/cpu/kernels/sparse_products.h"

/// All kernels, for the type Lanes that was included before this file.
namespace gradrace::kernels {
namespace {

void forward(const InputRows& x, const float* w, std::size_t columns, float* y) {
  x.dense != nullptr ? forward_dense(x, w, columns, y) : forward_sparse(x, w, columns, y);
}

void backward(const InputRows& x, const float* dy, std::size_t columns, const WeightFold& g) {
  x.dense != nullptr ? backward_dense(x, dy, columns, g) : backward_sparse(x, dy, columns, g);
}

void convert(const std::uint8_t* bytes, std::size_t count, float scale, float* to) {
  std::size_t i = 0;
  for (; i + lane_count <= count; i += lane_count)
    (Lanes::of_bytes(bytes + i) * Lanes::all(scale)).store(to + i);
  for (; i < count; ++i) to[i] = static_cast<float>(bytes[i]) * scale;
}

template <class Of>
GRADRACE_INLINE void each(float* x, std::size_t lanes, const Of& of) {
  for (std::size_t i = 0; i < lanes * lane_count; i += lane_count)
    of(Lanes::load(x + i)).store(x + i);
}
void exponentials(float* x, std::size_t lanes) { each(x, lanes, exponential); }
void logarithms(float* x, std::size_t lanes) { each(x, lanes, logarithm); }
void tanhs(float* x, std::size_t lanes) { each(x, lanes, hyperbolic_tangent); }
void relu(float* x, std::size_t lanes) {
  const Lanes zero = Lanes::all(0);
  each(x, lanes, [&](Lanes z) GRADRACE_ALWAYS { return Lanes::select(zero > z, zero, z); });
}

void tanh_slopes(const float* y, float* dy, std::size_t lanes) {
  for (std::size_t i = 0; i < lanes * lane_count; i += lane_count) {
    const Lanes f = Lanes::load(y + i);
    (Lanes::load(dy + i) * (Lanes::all(1) - f * f)).store(dy + i);
  }
}
void relu_slopes(const float* y, float* dy, std::size_t lanes) {
  const Lanes zero = Lanes::all(0);
  for (std::size_t i = 0; i < lanes * lane_count; i += lane_count)
    Lanes::select(Lanes::load(y + i) > zero, Lanes::load(dy + i), zero).store(dy + i);
}

constexpr Kernels kernels_named(std::string_view name, bool fuses) {
  return {name,
          fuses,
          forward,
          backward,
          backward_input,
          forward_few,
          backward_few,
          convert,
          exponentials,
          logarithms,
          tanhs,
          relu,
          tanh_slopes,
          relu_slopes,
          softmax_slopes,
          softmax_losses,
          losses_of_values,
          slopes_of_one,
          {correlate, weight_sums, map_sums},
          {moments, normalise, normalised_sums, normalise_back, greatest, greatest_back, mean,
           mean_back, respond, respond_back}};
}

}  // namespace
}  // namespace gradrace::kernels
