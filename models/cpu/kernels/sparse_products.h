#pragma once

#include "models/cpu/kernels/products.h"

/// Products of rows of which only the entries that are not 0 are kept.
namespace gradrace::kernels {
namespace {

/// The rows' entries; what a loop needs of them stays in registers, whatever it writes.
class ByteEntries {
 public:
  using Four = FourBytes;
  explicit ByteEntries(const InputRows& x) : rows_(x.bytes), of_byte_(x.of_byte) {}
  GRADRACE_INLINE const Four* begin(std::size_t row) const { return rows_[row]; }

  /// use(place * columns, number) of each; `at` is the last place * columns before, at first 0.
  template <class Use>
  GRADRACE_INLINE void each(const Four& four, std::size_t columns, std::size_t& at,
                            const Use& use) const {
    std::uint64_t word = four.word;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < entries_at_once; ++i, word >>= 16) {
      at += (word >> 8 & 255) * columns;
      use(at, of_byte_[word & 255]);
    }
  }

 private:
  const Four* const* rows_;
  const float* of_byte_;
};

class FloatEntries {
 public:
  using Four = FourFloats;
  explicit FloatEntries(const InputRows& x) : rows_(x.floats) {}
  GRADRACE_INLINE const Four* begin(std::size_t row) const { return rows_[row]; }

  template <class Use>
  GRADRACE_INLINE void each(const Four& four, std::size_t columns, std::size_t& at,
                            const Use& use) const {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < entries_at_once; ++i) {
      at = four.places[i] * columns;
      use(at, four.x[i]);
    }
  }

 private:
  const Four* const* rows_;
};

template <class Use>
GRADRACE_INLINE void with_entries(const InputRows& x, const Use& use) {
  if (x.bytes != nullptr)
    use(ByteEntries(x));
  else
    use(FloatEntries(x));
}

/// use<L>(first column) for lanes side by side.
template <class Use>
GRADRACE_INLINE void each_lanes(std::size_t columns, const Use& use) {
  each_held(columns / lane_count, [&]<int L>(std::size_t first) GRADRACE_ALWAYS {
    use.template operator()<L>(first * lane_count);
  });
}

template <int L, class Entries>
GRADRACE_INLINE void add_four(const Entries& entries, const typename Entries::Four& four,
                              const float* w, std::size_t columns, std::size_t& at,
                              Lanes (&sum)[L]) {
  entries.each(four, columns, at, [&](std::size_t from, float number) GRADRACE_ALWAYS {
    const Lanes x = Lanes::all(number);
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l)
      sum[l] = Lanes::fma(x, Lanes::load(w + from + l * lane_count), sum[l]);
  });
}

/// Of one lane that is all: the chains of R rows, since one alone would wait for itself.  Where a
/// row ends, the next takes its place.
template <int R, class Entries>
void forward_side_by_side(const InputRows& x, const Entries entries, const float* w, const float* b,
                          float* y) {
  constexpr std::size_t columns = lane_count;
  Lanes sum[R][1] = {};
  const typename Entries::Four* four[R] = {};
  std::size_t at[R] = {}, left[R] = {}, row[R] = {}, next = 0;
  bool busy[R], all_busy = true;
  const auto take = [&](int r) GRADRACE_ALWAYS {
    busy[r] = next < x.n;
    all_busy = all_busy && busy[r];
    if (!busy[r]) return;
    row[r] = next++;
    four[r] = entries.begin(row[r]);
    at[r] = 0;
    left[r] = x.counts[row[r]];
    sum[r][0] = Lanes::load(b);
  };
  const auto add = [&](int r) GRADRACE_ALWAYS {
    add_four<1>(entries, *four[r]++, w, columns, at[r], sum[r]);
  };
  const auto finish = [&](int r) GRADRACE_ALWAYS { sum[r][0].store(y + row[r] * columns); };
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) take(r);
  while (all_busy) {  // NOLINT(bugprone-infinite-loop): take() ends it
    std::size_t together = left[0];
#pragma GCC unroll 16
    for (int r = 1; r < R; ++r) together = left[r] < together ? left[r] : together;
    for (std::size_t i = 0; i < together; ++i)
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) add(r);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      left[r] -= together;
      if (left[r] > 0) continue;
      finish(r);
      take(r);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    if (!busy[r]) continue;
    for (; left[r] > 0; --left[r]) add(r);
    finish(r);
  }
}

/// How many places of W's rows stay in the first cache while all rows pass by them.
template <int L>
constexpr std::size_t places_of_weights = 32 * 1024 / (L * lane_count * sizeof(float));

/// Of more lanes: block after block of places.  y carries the chains from one to the next.
template <int L, class Entries>
void forward_in_blocks(const InputRows& x, const Entries entries, const float* w,
                       std::size_t columns, const float* b, float* y) {
  for (std::size_t first = 0, end; first < x.inputs; first = end) {
    const std::size_t left = x.inputs - first;
    end = first + (left < places_of_weights<L> ? left : places_of_weights<L>);
    for (std::size_t r = 0; r < x.n; ++r) {
      if (first == 0) fetch_soon(x.soon, r), x.reached[r] = {0, 0};
      float* const to = y + r * columns;
      const auto* four = entries.begin(r) + x.reached[r].fours;
      const auto* const last = entries.begin(r) + x.counts[r];
      std::size_t at = x.reached[r].place * columns;
      Lanes sum[L];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) sum[l] = Lanes::load((first == 0 ? b : to) + l * lane_count);
      // The last four may reach into the next block.
      while (four < last && at < end * columns) add_four<L>(entries, *four++, w, columns, at, sum);
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) sum[l].store(to + l * lane_count);
      x.reached[r] = {static_cast<std::uint32_t>(four - entries.begin(r)),
                      static_cast<std::uint32_t>(at / columns)};
    }
  }
}

/// use(place, number) of all entries of a row.
template <class Entries, class Use>
GRADRACE_INLINE void each_entry(const InputRows& x, const Entries& entries, std::size_t row,
                                const Use& use) {
  const auto* four = entries.begin(row);
  const auto* const last = four + x.counts[row];
  for (std::size_t place = 0; four < last; ++four) entries.each(*four, 1, place, use);
}

/// Sorts the entries of all rows by their places, and those of a place by their rows.
template <class Entries>
void turn(const InputRows& x, const Entries entries) {
  std::uint32_t* const ends = x.turned.ends;
  TurnedEntry* const turned = x.turned.entries;
  for (std::size_t k = 0; k < x.inputs; ++k) ends[k] = 0;
  for (std::size_t r = 0; r < x.n; ++r)
    each_entry(x, entries, r, [&](std::size_t k, float) GRADRACE_ALWAYS { ++ends[k]; });
  std::uint32_t so_far = 0;
  for (std::size_t k = 0; k < x.inputs; ++k) {
    const std::uint32_t count = ends[k];
    ends[k] = so_far;
    so_far += count;
  }
  for (std::size_t r = 0; r < x.n; ++r) {
    fetch_soon(x.soon, r);
    each_entry(x, entries, r, [&](std::size_t k, float number) GRADRACE_ALWAYS {
      turned[ends[k]++] = {static_cast<std::uint32_t>(r), number};
    });
  }
}

/// dW of L lanes from column `at` on: place after place, whose chains stay in registers.
template <int L>
void backward_by_place(const InputRows& x, const float* dy, std::size_t columns, std::size_t at,
                       const Finish finish) {
  const std::size_t ahead = 8 * columns;
  const TurnedEntry* entry = x.turned.entries;
  for (std::size_t k = 0; k < x.inputs; ++k) {
    const std::size_t number = k * columns + at;
    Lanes sum[L];
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) {
      finish.fetch_base(number + ahead + l * lane_count);
      finish.fetch_out(number + ahead + l * lane_count);
      sum[l] = finish.before(number + l * lane_count);
    }
    for (const TurnedEntry* const last = x.turned.entries + x.turned.ends[k]; entry < last;
         ++entry) {
      const float* const from = dy + entry->row * columns + at;
      const Lanes number_of_row = Lanes::all(entry->x);
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l)
        sum[l] = Lanes::fma(number_of_row, Lanes::load(from + l * lane_count), sum[l]);
    }
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) finish(number + l * lane_count, sum[l]);
  }
}

/// Of one lane that is all: row after row, since to turn them round would take longer.  Nothing may
/// be read from where dW goes.
template <class Entries>
void backward_by_row(const InputRows& x, const Entries entries, const float* dy,
                     const Finish finish) {
  constexpr std::size_t ahead = 16 * lane_count;
  const std::size_t numbers = x.inputs * lane_count;
  float* const sums = finish.out();
  for (std::size_t i = 0; i < numbers; i += lane_count) {
    finish.fetch_out(i + ahead);
    finish.before(i).store(sums + i);
  }
  for (std::size_t r = 0; r < x.n; ++r) {
    fetch_soon(x.soon, r);
    const auto* four = entries.begin(r);
    const auto* const last = four + x.counts[r];
    const Lanes by_y = Lanes::load(dy + r * lane_count);
    for (std::size_t at = 0; four < last; ++four)
      entries.each(*four, lane_count, at, [&](std::size_t to, float number) GRADRACE_ALWAYS {
        Lanes::fma(Lanes::all(number), by_y, Lanes::load(sums + to)).store(sums + to);
      });
  }
  for (std::size_t i = 0; i < numbers; i += lane_count) {
    finish.fetch_out(i + ahead);
    finish.fetch_base(i + ahead);
    finish(i, Lanes::load(sums + i));
  }
}

void forward_sparse(const InputRows& x, const float* w, std::size_t columns, float* y) {
  const float* const b = w + x.inputs * columns;
  with_entries(x, [&](const auto& entries) GRADRACE_ALWAYS {
    if (columns == lane_count) return forward_side_by_side<3>(x, entries, w, b, y);
    each_lanes(columns, [&]<int L>(std::size_t at) GRADRACE_ALWAYS {
      forward_in_blocks<L>(x, entries, w + at, columns, b + at, y + at);
    });
  });
}

void backward_sparse(const InputRows& x, const float* dy, std::size_t columns,
                     const WeightFold& g) {
  const Finish finish(g);
  const bool by_row = columns == lane_count && finish.out_is_free();
  with_entries(x, [&](const auto& entries) GRADRACE_ALWAYS {
    by_row ? backward_by_row(x, entries, dy, finish) : turn(x, entries);
  });
  if (!by_row)
    each_lanes(columns, [&]<int L>(std::size_t at)
                            GRADRACE_ALWAYS { backward_by_place<L>(x, dy, columns, at, finish); });
  backward_bias(x.n, x.inputs * columns, dy, columns, finish);
}

}  // namespace
}  // namespace gradrace::kernels
