#pragma once

#include "models/cpu/kernels/products.h"

/// Products of a layer of few outputs: the lanes are inputs, so that no lane is empty, and a group
/// of 16 inputs that are all 0 is passed over.
namespace gradrace::kernels {
namespace {

class ByteGroups {
 public:
  explicit ByteGroups(const InputGroups& x) : rows_(x.bytes), scale_(Lanes::all(x.scale)) {}
  GRADRACE_INLINE const ByteGroup* begin(std::size_t row) const { return rows_[row]; }
  GRADRACE_INLINE Lanes numbers(const ByteGroup& group) const {
    return Lanes::of_bytes(group.x) * scale_;
  }

 private:
  const ByteGroup* const* rows_;
  Lanes scale_;
};

class FloatGroups {
 public:
  explicit FloatGroups(const InputGroups& x) : rows_(x.floats) {}
  GRADRACE_INLINE const FloatGroup* begin(std::size_t row) const { return rows_[row]; }
  GRADRACE_INLINE static Lanes numbers(const FloatGroup& group) { return Lanes::load(group.x); }

 private:
  const FloatGroup* const* rows_;
};

template <class Use>
GRADRACE_INLINE void with_groups(const InputGroups& x, const Use& use) {
  if (x.bytes != nullptr)
    use(ByteGroups(x));
  else
    use(FloatGroups(x));
}

/// Of L outputs from `first` on, of the groups before place `end`: in_blocks, those after the ones
/// before `begin`, whose sums are kept.
template <int L, bool in_blocks, class Groups>
void forward_of(const InputGroups& x, const Groups groups, const float* w, std::size_t outputs,
                std::size_t first, std::size_t begin, std::size_t end, float* y) {
  const std::size_t words = words_of(x.n), columns = columns_of_few(outputs);
  const float* const b = w + outputs * x.places + first;
  w += first * lane_count;
  y += first;
  for (std::size_t r = 0; r < x.n; ++r) {
    if (first == 0 && begin == 0) fetch_soon(x.soon, r);
    std::uint64_t* const rows_of = x.rows_of + r / 64;
    const std::uint64_t own = std::uint64_t{1} << r % 64;
    const auto* group = groups.begin(r);
    const auto* const last = group + x.counts[r];
    float* const kept = x.sums + r * L * lane_count;
    if (in_blocks && begin > 0) group = static_cast<decltype(group)>(x.next[r]);
    Lanes sum[L];
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l)
      sum[l] = in_blocks && begin > 0 ? Lanes::load(kept + l * lane_count) : Lanes::all(0);
    for (; group < last && (!in_blocks || group->place < end); ++group) {
      rows_of[group->place / lane_count * words] |= own;
      const Lanes numbers = groups.numbers(*group);
      const float* const from = w + group->place * outputs;
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l)
        sum[l] = Lanes::fma(numbers, Lanes::load(from + l * lane_count), sum[l]);
    }
    if (in_blocks && end < x.places) {
      x.next[r] = group;
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) sum[l].store(kept + l * lane_count);
      continue;
    }
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) y[r * columns + l] = sum[l].total() + b[l];
  }
}

/// W is read once for each row: in blocks that stay in the first cache.
template <int L, class Groups>
void forward_at(const InputGroups& x, const Groups groups, const float* w, std::size_t outputs,
                std::size_t first, float* y) {
  constexpr std::size_t most_numbers = 8192;  // 32 KiB
  const std::size_t block = most_numbers / outputs / lane_count * lane_count;
  if (x.places <= block) return forward_of<L, false>(x, groups, w, outputs, first, 0, x.places, y);
  for (std::size_t begin = 0; begin < x.places; begin += block) {
    const std::size_t left = x.places - begin;
    forward_of<L, true>(x, groups, w, outputs, first, begin, begin + (left < block ? left : block),
                        y);
  }
}

void forward_few(const InputGroups& x, const float* w, std::size_t outputs, float* y) {
  for (std::size_t i = 0; i < x.places / lane_count * words_of(x.n); ++i) x.rows_of[i] = 0;
  with_groups(x, [&](const auto& groups) GRADRACE_ALWAYS {
    each_held(outputs, [&]<int L>(std::size_t first)
                           GRADRACE_ALWAYS { forward_at<L>(x, groups, w, outputs, first, y); });
  });
}

/// The plain case of a Finish: W is moved along its gradient.
class Move {
 public:
  explicit Move(const WeightFold& g) : into_(g.into) {}
  static bool is_all_of(const WeightFold& g) {
    return g.before == nullptr && g.decay == 0 && g.into.sum == nullptr && g.into.base != nullptr;
  }

  GRADRACE_INLINE static Lanes before(std::size_t) { return Lanes::all(0); }
  GRADRACE_INLINE void operator()(std::size_t place, Lanes x) const {
    // As Finish has it: 0 + weight x.
    (Lanes::load(into_.base + place) - (Lanes::all(0) + Lanes::all(into_.weight) * x))
        .store(into_.out + place);
  }

 private:
  Fold<float> into_;
};

/// dW of L outputs from `first` on: group after group, whose chains stay in registers.
template <int L, class Groups, class Into>
void weights_of(const InputGroups& x, const Groups groups, const float* dy, std::size_t outputs,
                std::size_t first, const Into into) {
  const std::size_t words = words_of(x.n), columns = columns_of_few(outputs);
  const void** const next = x.next;
  for (std::size_t r = 0; r < x.n; ++r) next[r] = groups.begin(r);
  const std::uint64_t* rows_of = x.rows_of;
  for (std::size_t place = 0; place < x.places; place += lane_count) {
    const std::size_t number = place * outputs + first * lane_count;
    Lanes sum[L];
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) sum[l] = into.before(number + l * lane_count);
    for (std::size_t word = 0; word < words; ++word) {
      for (std::uint64_t left = *rows_of++; left != 0; left &= left - 1) {
        const std::size_t r = 64 * word + static_cast<std::size_t>(__builtin_ctzll(left));
        const auto* const group = static_cast<decltype(groups.begin(r))>(next[r]);
        next[r] = group + 1;
        const Lanes numbers = groups.numbers(*group);
        const float* const of_row = dy + r * columns + first;
#pragma GCC unroll 16
        for (int l = 0; l < L; ++l) sum[l] = Lanes::fma(numbers, Lanes::all(of_row[l]), sum[l]);
      }
    }
#pragma GCC unroll 16
    for (int l = 0; l < L; ++l) into(number + l * lane_count, sum[l]);
  }
}

template <class Into>
void weights_of_few(const InputGroups& x, const float* dy, std::size_t outputs, const Into& into) {
  with_groups(x, [&](const auto& groups) GRADRACE_ALWAYS {
    each_held(outputs, [&]<int L>(std::size_t first)
                           GRADRACE_ALWAYS { weights_of<L>(x, groups, dy, outputs, first, into); });
  });
}

void backward_few(const InputGroups& x, const float* dy, std::size_t outputs, const WeightFold& g) {
  const Finish finish(g);
  Move::is_all_of(g) ? weights_of_few(x, dy, outputs, Move(g))
                     : weights_of_few(x, dy, outputs, finish);
  const std::size_t b = outputs * x.places;
  if (outputs > 1) return backward_bias(x.n, b, dy, columns_of_few(outputs), finish);
  float sum = finish.one_before(b);
  for (std::size_t r = 0; r < x.n; ++r) sum += dy[r];
  finish.one_without_decay(b, sum);
}

}  // namespace
}  // namespace gradrace::kernels
