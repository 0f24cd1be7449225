#pragma once

#include "models/cpu/kernels/inline.h"
#include "models/cpu/kernels/kernels.h"

/// Products of dense rows.  Everything here depends on the type Lanes: 16 floats in registers, with
///
/// load, store, all(x), of_bytes, places (0 to 15), + - * /, fma, > == and select, the bits & |,
/// up23, down23 (shifted), total and greatest (each the same tree over lanes); held, how many of
/// them a kernel holds beside two more; rows_for and lanes_of_tile, how large its tiles are.
namespace gradrace::kernels {
namespace {

/// Where the numbers of a gradient's place go.
class Finish {
 public:
  explicit Finish(const WeightFold& g) : g_(g) {}

  /// What the chain of a place begins with.
  GRADRACE_INLINE Lanes before(std::size_t place) const {
    return g_.before != nullptr ? Lanes::load(g_.before + place) : Lanes::all(0);
  }
  GRADRACE_INLINE float one_before(std::size_t place) const {
    return g_.before != nullptr ? g_.before[place] : 0;
  }
  GRADRACE_INLINE void operator()(std::size_t place, Lanes x) const {
    if (g_.decay != 0) x = x + Lanes::all(g_.decay) * Lanes::load(g_.w + place);
    without_decay(place, x);
  }
  GRADRACE_INLINE void without_decay(std::size_t place, Lanes x) const {
    const Fold<float>& into = g_.into;
    const Lanes before = into.sum != nullptr ? Lanes::load(into.sum + place) : Lanes::all(0);
    Lanes change = before + Lanes::all(into.weight) * x;
    if (into.base != nullptr) change = Lanes::load(into.base + place) - change;
    change.store(into.out + place);
  }
  /// Whether nothing is read from where the numbers go.
  bool out_is_free() const {
    const Fold<float>& into = g_.into;
    return into.out != into.sum && into.out != into.base && (g_.decay == 0 || into.out != g_.w);
  }
  float* out() const { return g_.into.out; }

  GRADRACE_INLINE void fetch_out(std::size_t place) const {
    __builtin_prefetch(g_.into.out + place, 1);
  }
  GRADRACE_INLINE void fetch_base(std::size_t place) const {
    if (g_.into.base != nullptr) __builtin_prefetch(g_.into.base + place);
  }
  /// Of a single number.
  GRADRACE_INLINE void one_without_decay(std::size_t place, float x) const {
    const Fold<float>& into = g_.into;
    const float change = (into.sum != nullptr ? into.sum[place] : 0) + into.weight * x;
    into.out[place] = into.base != nullptr ? into.base[place] - change : change;
  }

 private:
  WeightFold g_;
};

/// The lines of a row that comes after this minibatch, from far away: fetching them takes as long
/// as computing with them.
GRADRACE_INLINE void fetch_soon(std::span<const Soon> soon, std::size_t row) {
  constexpr std::size_t line = 64;  // of a cache
  if (row >= soon.size()) return;
  for (std::size_t i = 0; i < soon[row].bytes; i += line)
    __builtin_prefetch(soon[row].begin + i, 0, 2);
}

/// use<L>(first) of `count` things, as many at once as are held and as evenly as it goes.
template <int L = Lanes::held, class Use>
GRADRACE_INLINE void with_count(std::size_t count, std::size_t first, const Use& use) {
  if (count == L)
    use.template operator()<L>(first);
  else if constexpr (L > 1)
    with_count<L - 1>(count, first, use);
}
template <class Use>
GRADRACE_INLINE void each_held(std::size_t count, const Use& use) {
  const std::size_t parts = (count + Lanes::held - 1) / Lanes::held;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = count * part / parts, last = count * (part + 1) / parts;
    with_count(last - first, first, use);
  }
}

/// A matrix whose rows, or whose columns, are `far` apart.
struct FarRows {
  const float* a;
  std::size_t far;
  GRADRACE_INLINE const float* row(int r) const { return a + static_cast<std::size_t>(r) * far; }
  GRADRACE_INLINE FarRows from(std::size_t r) const { return {a + r * far, far}; }
  static constexpr std::size_t step(std::size_t) { return 1; }
};
struct FarColumns {
  const float* a;
  std::size_t far;
  GRADRACE_INLINE const float* row(int r) const { return a + r; }
  GRADRACE_INLINE FarColumns from(std::size_t r) const { return {a + r, far}; }
  static constexpr std::size_t step(std::size_t away) { return away; }
};

/// The chains of R rows of a and L lanes of b [steps, columns]; init(row, lanes) begins them and
/// sink(row, lanes, chain) takes them.
template <int R, int L, class A, class Init, class Sink>
GRADRACE_INLINE void tile(const A& a, std::size_t steps, const float* b, std::size_t columns,
                          const Init& init, const Sink& sink) {
  Lanes chain[R][L];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) chain[r][l] = init(r, l);
  const float* row[R];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) row[r] = a.row(r);
  for (std::size_t s = 0, at = 0; s < steps; ++s, at += A::step(a.far)) {
    Lanes factor[L];
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) factor[l] = Lanes::load(b + s * columns + l * lane_count);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Lanes x = Lanes::all(row[r][at]);
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) chain[r][l] = Lanes::fma(x, factor[l], chain[r][l]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) sink(r, l, chain[r][l]);
}

/// The same of any number of rows; init and sink are told the first row of a tile.
template <int R, int L, class A, class Init, class Sink>
GRADRACE_INLINE void tiles(const A& a, std::size_t first, std::size_t rows, std::size_t steps,
                           const float* b, std::size_t columns, const Init& init,
                           const Sink& sink) {
  for (; first + R <= rows; first += R)
    tile<R, L>(
        a.from(first), steps, b, columns,
        [&](int r, int l) GRADRACE_ALWAYS { return init(first + r, l); },
        [&](int r, int l, Lanes x) GRADRACE_ALWAYS { sink(first + r, l, x); });
  if constexpr (R > 1) tiles<R / 2, L>(a, first, rows, steps, b, columns, init, sink);
}

/// a b of a [rows, steps] and b [steps, columns].
template <class A, class Init, class Sink>
GRADRACE_INLINE void product(const A& a, std::size_t rows, std::size_t steps, const float* b,
                             std::size_t columns, const Init& init, const Sink& sink) {
  const auto chunk = [&]<int L>(std::size_t at) GRADRACE_ALWAYS {
    tiles<Lanes::rows_for(L), L>(
        a, 0, rows, steps, b + at, columns,
        [&](std::size_t r, int l) GRADRACE_ALWAYS { return init(r, at + l * lane_count); },
        [&](std::size_t r, int l, Lanes x) GRADRACE_ALWAYS { sink(r, at + l * lane_count, x); });
  };
  constexpr std::size_t wide = Lanes::lanes_of_tile * lane_count;
  std::size_t at = 0;
  for (; at + wide <= columns; at += wide) chunk.template operator()<Lanes::lanes_of_tile>(at);
  for (; at < columns; at += lane_count) chunk.template operator()<1>(at);
}

void forward_dense(const InputRows& x, const float* w, std::size_t columns, float* y) {
  const float* const b = w + x.inputs * columns;
  product(
      FarRows{x.dense, x.stride}, x.n, x.inputs, w, columns,
      [&](std::size_t, std::size_t at) GRADRACE_ALWAYS { return Lanes::load(b + at); },
      [&](std::size_t r, std::size_t at, Lanes sum)
          GRADRACE_ALWAYS { sum.store(y + r * columns + at); });
}

/// Of b, whose factor is 1, and which begins at `first`.
void backward_bias(std::size_t n, std::size_t first, const float* dy, std::size_t columns,
                   const Finish& finish) {
  for (std::size_t at = 0; at < columns; at += lane_count) {
    const std::size_t place = first + at;
    Lanes sum = finish.before(place);
    for (std::size_t r = 0; r < n; ++r) sum = sum + Lanes::load(dy + r * columns + at);
    finish.without_decay(place, sum);
  }
}

void backward_dense(const InputRows& x, const float* dy, std::size_t columns, const WeightFold& g) {
  const Finish finish(g);
  const std::size_t apart = x.soon.empty() ? x.inputs : x.inputs / x.soon.size() + 1;
  std::size_t soon = 0, next = 0;
  product(
      FarColumns{x.dense, x.stride}, x.inputs, x.n, dy, columns,
      [&](std::size_t k, std::size_t at) GRADRACE_ALWAYS {
        if (at == 0 && k >= next) fetch_soon(x.soon, soon++), next += apart;
        return finish.before(k * columns + at);
      },
      [&](std::size_t k, std::size_t at, Lanes sum)
          GRADRACE_ALWAYS { finish(k * columns + at, sum); });
  backward_bias(x.n, x.inputs * columns, dy, columns, finish);
}

/// Rows are the lanes: W stays as it is, and what is turned round is as small as the minibatch.
void backward_input(const float* dy, std::size_t n, std::size_t columns, std::size_t outputs,
                    const float* w, std::size_t inputs, float* dx, float* scratch) {
  const std::size_t rows = in_lanes(n), stride = in_lanes(inputs);
  float* const dy_turned = scratch;
  float* const dx_turned = scratch + outputs * rows;
  for (std::size_t o = 0; o < outputs; ++o)
    for (std::size_t r = 0; r < rows; ++r)
      dy_turned[o * rows + r] = r < n ? dy[r * columns + o] : 0;
  product(
      FarRows{w, columns}, inputs, outputs, dy_turned, rows,
      [&](std::size_t, std::size_t) GRADRACE_ALWAYS { return Lanes::all(0); },
      [&](std::size_t i, std::size_t r, Lanes sum)
          GRADRACE_ALWAYS { sum.store(dx_turned + i * rows + r); });
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t i = 0; i < stride; ++i)
      dx[r * stride + i] = i < inputs ? dx_turned[i * rows + r] : 0;
}

}  // namespace
}  // namespace gradrace::kernels
