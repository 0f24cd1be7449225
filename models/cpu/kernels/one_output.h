#pragma once

#include "models/cpu/kernels/sparse_products.h"

/// Products of a layer of one output, which has no others to stand in lanes with it.
namespace gradrace::kernels {
namespace {

GRADRACE_INLINE float fused(float a, float b, float c) {
#if defined(__FP_FAST_FMAF) || defined(__FMA__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/// The chains of R rows side by side.
template <int R>
GRADRACE_INLINE std::size_t forward_rows(const InputRows& x, std::size_t first, const float* w,
                                         float* y) {
  for (; first + R <= x.n; first += R) {
    float chain[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      fetch_soon(x, first + static_cast<std::size_t>(r));
      chain[r] = w[x.inputs];
    }
    const float* const row = x.dense + first * x.stride;
    for (std::size_t k = 0; k < x.inputs; ++k)
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r)
        chain[r] = fused(row[static_cast<std::size_t>(r) * x.stride + k], w[k], chain[r]);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) y[first + static_cast<std::size_t>(r)] = chain[r];
  }
  return first;
}

void forward_one(const InputRows& x, const float* w, float* y) {
  if (x.dense != nullptr) {
    forward_rows<1>(x, forward_rows<8>(x, 0, w, y), w, y);
    return;
  }
  with_entries(x, [&](const auto& entries) GRADRACE_ALWAYS {
    for (std::size_t r = 0; r < x.n; ++r) {
      fetch_soon(x, r);
      float chain = w[x.inputs];
      each_entry(x, entries, r, [&](std::size_t k, float number) GRADRACE_ALWAYS {
        chain = fused(number, w[k], chain);
      });
      y[r] = chain;
    }
  });
}

/// Inputs are the lanes.
void weights_of_dense(const InputRows& x, const float* dy, const Finish& finish) {
  std::size_t k = 0;
  for (; k + lane_count <= x.inputs; k += lane_count) {
    Lanes sum = finish.before(k);
    for (std::size_t r = 0; r < x.n; ++r)
      sum = Lanes::fma(Lanes::load(x.dense + r * x.stride + k), Lanes::all(dy[r]), sum);
    finish(k, sum);
  }
  for (; k < x.inputs; ++k) {
    float sum = finish.one_before(k);
    for (std::size_t r = 0; r < x.n; ++r) sum = fused(x.dense[r * x.stride + k], dy[r], sum);
    finish.one(k, sum);
  }
}

template <class Entries>
void weights_of_entries(const InputRows& x, const Entries& entries, const float* dy,
                        const Finish& finish, float* sums) {
  for (std::size_t k = 0; k < x.inputs; ++k) sums[k] = finish.one_before(k);
  for (std::size_t r = 0; r < x.n; ++r)
    each_entry(x, entries, r, [&](std::size_t k, float number) GRADRACE_ALWAYS {
      sums[k] = fused(number, dy[r], sums[k]);
    });
  std::size_t k = 0;
  for (; k + lane_count <= x.inputs; k += lane_count) finish(k, Lanes::load(sums + k));
  for (; k < x.inputs; ++k) finish.one(k, sums[k]);
}

void backward_one(const InputRows& x, const float* dy, const WeightFold& g, float* sums) {
  const Finish finish(g);
  if (x.dense != nullptr)
    weights_of_dense(x, dy, finish);
  else
    with_entries(x, [&](const auto& entries)
                        GRADRACE_ALWAYS { weights_of_entries(x, entries, dy, finish, sums); });
  float sum = finish.one_before(x.inputs);
  for (std::size_t r = 0; r < x.n; ++r) sum += dy[r];
  finish.one_without_decay(x.inputs, sum);
}

}  // namespace
}  // namespace gradrace::kernels
