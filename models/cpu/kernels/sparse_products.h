#pragma once

#include "models/cpu/kernels/products.h"

/// Products of rows of which only the entries that are not 0 are kept.
namespace gradrace::kernels {
namespace {

struct ByteEntries {
  const InputRows& x;
  using Entry = ByteEntry;
  GRADRACE_INLINE const Entry* begin(std::size_t row) const { return x.bytes[row]; }
  GRADRACE_INLINE std::size_t place(const Entry& e) const { return e.word >> 8; }
  GRADRACE_INLINE float number(const Entry& e) const { return x.of_byte[e.word & 255]; }
};

struct FloatEntries {
  const InputRows& x;
  using Entry = FloatEntry;
  GRADRACE_INLINE const Entry* begin(std::size_t row) const { return x.floats[row]; }
  GRADRACE_INLINE std::size_t place(const Entry& e) const { return e.place; }
  GRADRACE_INLINE float number(const Entry& e) const { return e.x; }
};

template <class Use>
GRADRACE_INLINE void with_entries(const InputRows& x, const Use& use) {
  if (x.bytes != nullptr)
    use(ByteEntries{x});
  else
    use(FloatEntries{x});
}

/// use<L>(first column) for lanes side by side, as many as are held and as evenly as it goes.
template <int L = Lanes::held, class Use>
GRADRACE_INLINE void with_lanes(std::size_t lanes, std::size_t at, const Use& use) {
  if (lanes == L)
    use.template operator()<L>(at);
  else if constexpr (L > 1)
    with_lanes<L - 1>(lanes, at, use);
}
template <class Use>
GRADRACE_INLINE void each_lanes(std::size_t columns, const Use& use) {
  const std::size_t lanes = columns / lane_count;
  const std::size_t parts = (lanes + Lanes::held - 1) / Lanes::held;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = lanes * part / parts, last = lanes * (part + 1) / parts;
    with_lanes(last - first, first * lane_count, use);
  }
}

template <int L, class Entries>
GRADRACE_INLINE void add_entry(const Entries& entries, const typename Entries::Entry& entry,
                               const float* w, std::size_t columns, Lanes (&sum)[L]) {
  const float* const from = w + entries.place(entry) * columns;
  const Lanes x = Lanes::all(entries.number(entry));
#pragma GCC unroll 16
  for (int l = 0; l < L; ++l) sum[l] = Lanes::fma(x, Lanes::load(from + l * lane_count), sum[l]);
}

/// Of one lane: the chains of R rows, since one alone would wait for itself.  Where a row ends, the
/// next takes its place.
template <int R, class Entries>
void forward_side_by_side(const Entries& entries, const float* w, std::size_t columns,
                          const float* b, float* y) {
  const InputRows& x = entries.x;
  Lanes sum[R][1] = {};
  const typename Entries::Entry* at[R] = {};
  std::uint32_t left[R] = {};
  std::size_t row[R] = {}, next = 0;
  bool busy[R], all_busy = true;
  const auto take = [&](int r) GRADRACE_ALWAYS {
    busy[r] = next < x.n;
    all_busy = all_busy && busy[r];
    if (!busy[r]) return;
    row[r] = next++;
    at[r] = entries.begin(row[r]);
    left[r] = x.counts[row[r]];
    sum[r][0] = Lanes::load(b);
  };
  const auto finish = [&](int r) GRADRACE_ALWAYS { sum[r][0].store(y + row[r] * columns); };
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) take(r);
  while (all_busy) {
    std::uint32_t together = left[0];
#pragma GCC unroll 16
    for (int r = 1; r < R; ++r) together = left[r] < together ? left[r] : together;
    for (std::uint32_t i = 0; i < together; ++i)
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) add_entry<1>(entries, at[r][i], w, columns, sum[r]);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      at[r] += together, left[r] -= together;
      if (left[r] > 0) continue;
      finish(r);
      take(r);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    if (!busy[r]) continue;
    for (std::uint32_t i = 0; i < left[r]; ++i) add_entry<1>(entries, at[r][i], w, columns, sum[r]);
    finish(r);
  }
}

/// How many places of W's rows stay in the first cache while all rows pass by them.
template <int L>
constexpr std::size_t places_of_block = sums_of_entries / (L * lane_count);

/// Of more lanes: block after block of places.  y carries the chains from one to the next.
template <int L, class Entries>
void forward_in_blocks(const Entries& entries, const float* w, std::size_t columns, const float* b,
                       float* y, std::uint32_t* done) {
  const InputRows& x = entries.x;
  for (std::size_t end = places_of_block<L>, first = 0; first < x.inputs;
       first = end, end += places_of_block<L>) {
    for (std::size_t r = 0; r < x.n; ++r) {
      const auto* const row = entries.begin(r);
      float* const to = y + r * columns;
      std::uint32_t i = first == 0 ? 0 : done[r];
      Lanes sum[L];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) sum[l] = Lanes::load((first == 0 ? b : to) + l * lane_count);
      for (; i < x.counts[r] && entries.place(row[i]) < end; ++i)
        add_entry<L>(entries, row[i], w, columns, sum);
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) sum[l].store(to + l * lane_count);
      done[r] = i;
    }
  }
}

/// dW is added up row by row in `sums`, a block of places at a time, and taken from there.
template <int L, class Entries>
void backward_in_blocks(const Entries& entries, const float* dy, std::size_t columns,
                        const Finish& finish, std::size_t at, float* sums, std::uint32_t* done) {
  const InputRows& x = entries.x;
  for (std::size_t first = 0; first < x.inputs; first += places_of_block<L>) {
    const std::size_t left = x.inputs - first;
    const std::size_t end = first + (left < places_of_block<L> ? left : places_of_block<L>);
    for (std::size_t r = 0; r < x.n; ++r) {
      const auto* const row = entries.begin(r);
      std::uint32_t i = first == 0 ? 0 : done[r];
      Lanes by_y[L];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) by_y[l] = Lanes::load(dy + r * columns + l * lane_count);
      for (; i < x.counts[r] && entries.place(row[i]) < end; ++i) {
        float* const to = sums + (entries.place(row[i]) - first) * L * lane_count;
        const Lanes number = Lanes::all(entries.number(row[i]));
#pragma GCC unroll 16
        for (int l = 0; l < L; ++l)
          Lanes::fma(number, by_y[l], Lanes::load(to + l * lane_count)).store(to + l * lane_count);
      }
      done[r] = i;
    }
    for (std::size_t k = first; k < end; ++k) {
      float* const from = sums + (k - first) * L * lane_count;
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) {
        finish(k * columns + at + l * lane_count, Lanes::load(from + l * lane_count));
        Lanes::all(0).store(from + l * lane_count);
      }
    }
  }
}

template <class Entries>
void forward_sparse(const Entries& entries, const float* w, std::size_t columns, float* y,
                    std::uint32_t* done) {
  const float* const b = w + entries.x.inputs * columns;
  each_lanes(columns, [&]<int L>(std::size_t at) GRADRACE_ALWAYS {
    if constexpr (L == 1)
      forward_side_by_side<4>(entries, w + at, columns, b + at, y + at);
    else
      forward_in_blocks<L>(entries, w + at, columns, b + at, y + at, done);
  });
}

template <class Entries>
void backward_sparse(const Entries& entries, const float* dy, std::size_t columns,
                     const WeightFold& g, float* sums, std::uint32_t* done) {
  const Finish finish{g};
  each_lanes(columns, [&]<int L>(std::size_t at) GRADRACE_ALWAYS {
    backward_in_blocks<L>(entries, dy + at, columns, finish, at, sums, done);
  });
  backward_bias(entries.x.n, entries.x.inputs, dy, columns, finish);
}

}  // namespace
}  // namespace gradrace::kernels
