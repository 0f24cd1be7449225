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

/// L lanes, from column `at` on, of the places from `first` on and before `end`.
template <int L>
struct Block {
  std::size_t first, end, columns, at;

  static Block first_of(std::size_t inputs, std::size_t places, std::size_t columns,
                        std::size_t at) {
    return {0, inputs < places ? inputs : places, columns, at};
  }

  GRADRACE_INLINE std::size_t number(std::size_t place, int lane) const {
    return place * columns + at + static_cast<std::size_t>(lane) * lane_count;
  }
  Block next(std::size_t inputs) const {
    const std::size_t left = inputs - end, places = end - first;
    return {end, end + (left < places ? left : places), columns, at};
  }
};

/// Of more lanes: block after block of places.  y carries the chains from one to the next.
template <int L, class Entries>
void forward_in_blocks(const InputRows& x, const Entries entries, const float* w,
                       std::size_t columns, const float* b, float* y) {
  for (Block<L> block = Block<L>::first_of(x.inputs, places_of_weights<L>, columns, 0);
       block.first < x.inputs; block = block.next(x.inputs)) {
    for (std::size_t r = 0; r < x.n; ++r) {
      if (block.first == 0) fetch_soon(x, r);
      float* const to = y + r * columns;
      const auto* at = entries.begin(r) + (block.first == 0 ? 0 : x.done[r]);
      const auto* const last = entries.begin(r) + x.counts[r];
      Lanes sum[L];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l)
        sum[l] = Lanes::load((block.first == 0 ? b : to) + l * lane_count);
      for (; at < last && entries.is_before(*at, block.end); ++at)
        add_entry<L>(entries, *at, w, columns, sum);
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) sum[l].store(to + l * lane_count);
      x.done[r] = static_cast<std::uint32_t>(at - entries.begin(r));
    }
  }
}

/// Where a block of dW is added up.
struct Sums {
  float* at;          // of the block's first place
  std::size_t apart;  // numbers from one place to the next
};

template <int L>
GRADRACE_INLINE void clear(const Block<L>& block, const Sums sums) {
  constexpr std::size_t ahead = 16 * lane_count;
  for (std::size_t k = block.first; k < block.end; ++k) {
    float* const to = sums.at + (k - block.first) * sums.apart;
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) {
      __builtin_prefetch(to + l * lane_count + ahead, 1);
      Lanes::all(0).store(to + l * lane_count);
    }
  }
}

/// Adds up the block's entries, row by row; with each row fetch(number) for some of the block's
/// lanes, so that all of them were fetched in the end.
template <int L, class Entries, class Fetch>
void add_up(const InputRows& x, const Entries entries, const float* dy, const Block<L> block,
            const Sums sums, const Fetch fetch) {
  const std::size_t share = (block.end - block.first + x.n - 1) / x.n;
  std::size_t fetched = block.first;
  for (std::size_t r = 0; r < x.n; ++r) {
    if (L == 1 && block.first == 0) fetch_soon(x, r);  // more lanes did so before
    for (std::size_t i = 0; i < share && fetched < block.end; ++i, ++fetched)
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) fetch(block.number(fetched, l));
    const auto* at = entries.begin(r) + (block.first == 0 ? 0 : x.done[r]);
    const auto* const last = entries.begin(r) + x.counts[r];
    Lanes by_y[L];
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) by_y[l] = Lanes::load(dy + block.number(r, l));
    for (; at < last && entries.is_before(*at, block.end); ++at) {
      float* const to = sums.at + (entries.place(*at) - block.first) * sums.apart;
      const Lanes number = Lanes::all(entries.number(*at));
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l)
        Lanes::fma(number, by_y[l], Lanes::load(to + l * lane_count)).store(to + l * lane_count);
    }
    x.done[r] = static_cast<std::uint32_t>(at - entries.begin(r));
  }
}

/// Takes the block's sums to where they go.
template <int L>
GRADRACE_INLINE void take_up(const Block<L>& block, const Sums sums, const Finish& finish) {
  for (std::size_t k = block.first; k < block.end; ++k) {
    const float* const from = sums.at + (k - block.first) * sums.apart;
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) finish(block.number(k, l), Lanes::load(from + l * lane_count));
  }
}

/// dW of L lanes.  Where nothing is read from where it goes it is added up right there: numbers
/// elsewhere would only pass through the caches.
template <int L, class Entries>
void backward_in_blocks(const InputRows& x, const Entries entries, const float* dy,
                        std::size_t columns, std::size_t at, const Finish finish, float* scratch) {
  const bool in_place = finish.out_is_free();
  for (Block<L> block = Block<L>::first_of(x.inputs, places_of_sums<L>, columns, at);
       block.first < x.inputs; block = block.next(x.inputs)) {
    const std::size_t begin = block.number(block.first, 0);
    const std::size_t ahead = in_place ? block.number(block.end, 0) - begin : 0;
    const Sums sums =
        in_place ? Sums{finish.out() + begin, columns} : Sums{scratch, L * lane_count};
    clear(block, sums);
    add_up(x, entries, dy, block, sums, [=](std::size_t number) GRADRACE_ALWAYS {
      finish.fetch_base(number);
      finish.fetch_out(number + ahead);
    });
    take_up(block, sums, finish);
  }
}

/// The same of one lane that is all: in one go, since rows end less often than in blocks.
template <class Entries>
void backward_at_once(const InputRows& x, const Entries entries, const float* dy,
                      const Finish finish) {
  constexpr std::size_t ahead = 16 * lane_count;
  const std::size_t numbers = x.inputs * lane_count;
  float* const sums = finish.out();
  for (std::size_t i = 0; i < numbers; i += lane_count) {
    finish.fetch_out(i + ahead);
    Lanes::all(0).store(sums + i);
  }
  for (std::size_t r = 0; r < x.n; ++r) {
    const auto* at = entries.begin(r);
    const auto* const last = at + x.counts[r];
    const Lanes by_y = Lanes::load(dy + r * lane_count);
    const auto add = [&](const auto& entry) GRADRACE_ALWAYS {
      float* const to = sums + entries.place(entry) * lane_count;
      Lanes::fma(Lanes::all(entries.number(entry)), by_y, Lanes::load(to)).store(to);
    };
    SoonLines soon(x, r);
    for (; last - at >= 8; at += 8) {
      soon.fetch_one();
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) add(at[i]);
    }
    for (; at < last; ++at) add(*at);
    soon.fetch_rest();
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
    each_lanes(columns, [&]<int L>(std::size_t at) GRADRACE_ALWAYS {
      if constexpr (L == 1)
        forward_side_by_side<4>(x, entries, w + at, columns, b + at, y + at);
      else
        forward_in_blocks<L>(x, entries, w + at, columns, b + at, y + at);
    });
  });
}

void backward_sparse(const InputRows& x, const float* dy, std::size_t columns, const WeightFold& g,
                     float* scratch) {
  const Finish finish(g);
  with_entries(x, [&](const auto& entries) GRADRACE_ALWAYS {
    if (columns == lane_count && finish.out_is_free())
      return backward_at_once(x, entries, dy, finish);
    each_lanes(columns, [&]<int L>(std::size_t at) GRADRACE_ALWAYS {
      backward_in_blocks<L>(x, entries, dy, columns, at, finish, scratch);
    });
  });
  backward_bias(x.n, x.inputs, dy, columns, finish);
}

}  // namespace
}  // namespace gradrace::kernels
