#pragma once

#include "models/cpu/kernels/products.h"

/// Products of rows of which only the entries that are not 0 are kept.
namespace gradrace::kernels {
namespace {

/// The rows' entries; what a loop needs of them stays in registers, whatever it writes.
class ByteEntries {
 public:
  using Entry = ByteEntry;
  explicit ByteEntries(const InputRows& x) : rows_(x.bytes), of_byte_(x.of_byte) {}
  GRADRACE_INLINE const Entry* begin(std::size_t row) const { return rows_[row]; }
  GRADRACE_INLINE std::size_t place(const Entry& e) const { return e.word >> 8; }
  GRADRACE_INLINE float number(const Entry& e) const { return of_byte_[e.word & 255]; }
  GRADRACE_INLINE bool is_before(const Entry& e, std::size_t place) const {
    return e.word < place << 8;
  }

 private:
  const Entry* const* rows_;
  const float* of_byte_;
};

class FloatEntries {
 public:
  using Entry = FloatEntry;
  explicit FloatEntries(const InputRows& x) : rows_(x.floats) {}
  GRADRACE_INLINE const Entry* begin(std::size_t row) const { return rows_[row]; }
  GRADRACE_INLINE std::size_t place(const Entry& e) const { return e.place; }
  GRADRACE_INLINE float number(const Entry& e) const { return e.x; }
  GRADRACE_INLINE bool is_before(const Entry& e, std::size_t place) const {
    return e.place < place;
  }

 private:
  const Entry* const* rows_;
};

template <class Use>
GRADRACE_INLINE void with_entries(const InputRows& x, const Use& use) {
  if (x.bytes != nullptr)
    use(ByteEntries(x));
  else
    use(FloatEntries(x));
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
void forward_side_by_side(const InputRows& x, const Entries entries, const float* w,
                          std::size_t columns, const float* b, float* y) {
  Lanes sum[R][1] = {};
  const typename Entries::Entry* at[R] = {};
  std::size_t left[R] = {}, row[R] = {}, next = 0;
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
    std::size_t together = left[0];
#pragma GCC unroll 16
    for (int r = 1; r < R; ++r) together = left[r] < together ? left[r] : together;
    for (std::size_t i = 0; i < together; ++i)
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
    for (std::size_t i = 0; i < left[r]; ++i) add_entry<1>(entries, at[r][i], w, columns, sum[r]);
    finish(r);
  }
}

/// How many places of W's rows stay in the first cache while all rows pass by them; dW's sums leave
/// room there for the values that they move.
template <int L>
constexpr std::size_t places_of_weights = 32 * 1024 / (L * lane_count * sizeof(float));
template <int L>
constexpr std::size_t places_of_sums = sums_of_entries / (L * lane_count);

/// Of more lanes: block after block of places.  y carries the chains from one to the next.
template <int L, class Entries>
void forward_in_blocks(const InputRows& x, const Entries entries, const float* w,
                       std::size_t columns, const float* b, float* y) {
  for (std::size_t first = 0, end = 0; first < x.inputs; first = end) {
    end = first + places_of_weights<L>;
    for (std::size_t r = 0; r < x.n; ++r) {
      float* const to = y + r * columns;
      const auto* at = entries.begin(r) + (first == 0 ? 0 : x.done[r]);
      const auto* const last = entries.begin(r) + x.counts[r];
      Lanes sum[L];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) sum[l] = Lanes::load((first == 0 ? b : to) + l * lane_count);
      for (; at < last && entries.is_before(*at, end); ++at)
        add_entry<L>(entries, *at, w, columns, sum);
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) sum[l].store(to + l * lane_count);
      x.done[r] = static_cast<std::uint32_t>(at - entries.begin(r));
    }
  }
}

/// Adds the entries at places from `first` on and before `end` to dW's sums, row by row.
template <int L, class Entries>
void add_up(const InputRows& x, const Entries entries, const float* dy, std::size_t columns,
            std::size_t first, std::size_t end, float* sums) {
  for (std::size_t r = 0; r < x.n; ++r) {
    const auto* at = entries.begin(r) + (first == 0 ? 0 : x.done[r]);
    const auto* const last = entries.begin(r) + x.counts[r];
    Lanes by_y[L];
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) by_y[l] = Lanes::load(dy + r * columns + l * lane_count);
    for (; at < last && entries.is_before(*at, end); ++at) {
      float* const to = sums + (entries.place(*at) - first) * L * lane_count;
      const Lanes number = Lanes::all(entries.number(*at));
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l)
        Lanes::fma(number, by_y[l], Lanes::load(to + l * lane_count)).store(to + l * lane_count);
    }
    x.done[r] = static_cast<std::uint32_t>(at - entries.begin(r));
  }
}

/// Where the sums go: to dW, and they are 0 again.
template <int L>
void take_up(float* sums, std::size_t first, std::size_t end, std::size_t columns, std::size_t at,
             const Finish finish) {
  for (std::size_t k = first; k < end; ++k, sums += L * lane_count) {
    finish.fetch((k + 16 / L) * columns + at);
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) {
      finish(k * columns + at + l * lane_count, Lanes::load(sums + l * lane_count));
      Lanes::all(0).store(sums + l * lane_count);
    }
  }
}

void forward_sparse(const InputRows& x, const float* w, std::size_t columns, float* y) {
  const float* const b = w + x.inputs * columns;
  with_entries(x, [&](const auto& entries) GRADRACE_ALWAYS {
    each_lanes(columns, [&]<int L>(std::size_t at) GRADRACE_ALWAYS {
      if constexpr (L == 1)
        forward_side_by_side<4>(x, entries, w + at, columns, b + at, y + at);
      else
        forward_in_blocks<L>(x, entries, w + at, columns, b + at, y + at);
    });
  });
}

void backward_sparse(const InputRows& x, const float* dy, std::size_t columns, const WeightFold& g,
                     float* sums) {
  const Finish finish(g);
  with_entries(x, [&](const auto& entries) GRADRACE_ALWAYS {
    each_lanes(columns, [&]<int L>(std::size_t at) GRADRACE_ALWAYS {
      for (std::size_t first = 0; first < x.inputs; first += places_of_sums<L>) {
        const std::size_t left = x.inputs - first;
        const std::size_t end = first + (left < places_of_sums<L> ? left : places_of_sums<L>);
        add_up<L>(x, entries, dy + at, columns, first, end, sums);
        take_up<L>(sums, first, end, columns, at, finish);
      }
    });
  });
  backward_bias(x.n, x.inputs, dy, columns, finish);
}

}  // namespace
}  // namespace gradrace::kernels
