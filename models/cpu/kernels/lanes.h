#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "models/cpu/kernels/inline.h"

/// Lanes: 16 numbers side by side, in the registers of an instruction set.  Every file of kernels
/// has its type to itself, so that the linker shares no code between instruction sets.
namespace gradrace::kernels {
namespace {

/// Vectors of so many numbers, on which the compiler's operators work number by number.
template <class Number, int numbers>
struct VectorOf {
  typedef Number Type __attribute__((vector_size(numbers * sizeof(Number))));
};
template <class Number, int numbers>
using Vector = typename VectorOf<Number, numbers>::Type;

/// What an instruction set says of its registers, unless it says better; beside it has those of
/// of_bytes() and root() of a register, and how much kernels hold in registers: `held` lanes beside
/// two more, tiles of rows_for(lanes) and lanes_of_tile, and of convolutions maps_of_tile and
/// sums_held.
template <class N, int numbers_of_register>
struct PlainRegisters {
  using Number = N;
  static constexpr int numbers = numbers_of_register;
  using Register = Vector<Number, numbers>;

  /// Rounded twice.
  GRADRACE_INLINE static Register fma(Register a, Register b, Register c) { return a * b + c; }
  GRADRACE_INLINE static Register in_register(Register x) { return x; }

  /// The first numbers, the others 0; and written, the others not.
  template <class Lanes>
  GRADRACE_INLINE static Lanes some(const Number* p, std::size_t count) {
    Number all_numbers[Lanes::count] = {};
    for (std::size_t i = 0; i < count; ++i) all_numbers[i] = p[i];
    return Lanes::load(all_numbers);
  }
  template <class Lanes>
  GRADRACE_INLINE static void store_some(const Lanes& lanes, Number* p, std::size_t count) {
    Number all_numbers[Lanes::count];
    lanes.store(all_numbers);
    for (std::size_t i = 0; i < count; ++i) p[i] = all_numbers[i];
  }
};

/// What products.h and convolutions.h ask of a type of lanes.
template <class Registers>
struct LanesOf : Registers {
  using Number = typename Registers::Number;
  static constexpr int count = 16, width = Registers::numbers, registers = count / width;
  using Register = typename Registers::Register;
  using Integers = Vector<std::int32_t, width>;
  using Bits = Vector<std::uint32_t, width>;
  struct Mask {
    Integers v[registers];
  };

  Register v[registers];

  template <class Each>
  GRADRACE_INLINE static LanesOf each(const Each& of) {
    LanesOf result;
#pragma GCC unroll 16
    for (int i = 0; i < registers; ++i) result.v[i] = of(i);
    return result;
  }
  template <class Each>
  GRADRACE_INLINE static Mask where(const Each& holds) {
    Mask result;
#pragma GCC unroll 16
    for (int i = 0; i < registers; ++i) result.v[i] = holds(i);
    return result;
  }

  GRADRACE_INLINE static LanesOf load(const Number* p) {
    return each([&](int i) GRADRACE_ALWAYS {
      Register x;
      std::memcpy(&x, p + width * i, sizeof x);
      return x;
    });
  }
  GRADRACE_INLINE void store(Number* p) const {
#pragma GCC unroll 16
    for (int i = 0; i < registers; ++i) std::memcpy(p + width * i, &v[i], sizeof v[i]);
  }
  GRADRACE_INLINE static LanesOf some(const Number* p, std::size_t those) {
    return Registers::template some<LanesOf>(p, those);
  }
  GRADRACE_INLINE void store_some(Number* p, std::size_t those) const {
    Registers::store_some(*this, p, those);
  }
  GRADRACE_INLINE static LanesOf all(Number x) {
    return each([&](int) GRADRACE_ALWAYS { return x - Register{}; });
  }
  GRADRACE_INLINE static LanesOf of_bytes(const std::uint8_t* p) {
    return each([&](int i) GRADRACE_ALWAYS { return Registers::of_bytes(p + width * i); });
  }
  /// 0 to 15.
  GRADRACE_INLINE static LanesOf places() {
    constexpr Number first[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return load(first);
  }
  GRADRACE_INLINE LanesOf in_register() const {
    return each([&](int i) GRADRACE_ALWAYS { return Registers::in_register(v[i]); });
  }

  GRADRACE_INLINE friend LanesOf operator+(LanesOf a, LanesOf b) {
    return each([&](int i) GRADRACE_ALWAYS { return a.v[i] + b.v[i]; });
  }
  GRADRACE_INLINE friend LanesOf operator-(LanesOf a, LanesOf b) {
    return each([&](int i) GRADRACE_ALWAYS { return a.v[i] - b.v[i]; });
  }
  GRADRACE_INLINE friend LanesOf operator*(LanesOf a, LanesOf b) {
    return each([&](int i) GRADRACE_ALWAYS { return a.v[i] * b.v[i]; });
  }
  GRADRACE_INLINE friend LanesOf operator/(LanesOf a, LanesOf b) {
    return each([&](int i) GRADRACE_ALWAYS { return a.v[i] / b.v[i]; });
  }
  GRADRACE_INLINE static LanesOf fma(LanesOf a, LanesOf b, LanesOf c) {
    return each([&](int i) GRADRACE_ALWAYS { return Registers::fma(a.v[i], b.v[i], c.v[i]); });
  }
  GRADRACE_INLINE LanesOf root() const {
    return each([&](int i) GRADRACE_ALWAYS { return Registers::root(v[i]); });
  }

  GRADRACE_INLINE friend Mask operator>(LanesOf a, LanesOf b) {
    return where([&](int i) GRADRACE_ALWAYS { return a.v[i] > b.v[i]; });
  }
  GRADRACE_INLINE friend Mask operator==(LanesOf a, LanesOf b) {
    return where([&](int i) GRADRACE_ALWAYS { return a.v[i] == b.v[i]; });
  }
  GRADRACE_INLINE static LanesOf select(const Mask& m, LanesOf a, LanesOf b) {
    return each([&](int i) GRADRACE_ALWAYS { return m.v[i] ? a.v[i] : b.v[i]; });
  }

  template <class Of>
  GRADRACE_INLINE LanesOf with_bits(const Of& of) const {
    return each([&](int i) GRADRACE_ALWAYS {
      return reinterpret_cast<Register>(of(reinterpret_cast<Bits>(v[i]), i));
    });
  }
  GRADRACE_INLINE friend LanesOf operator&(LanesOf a, std::uint32_t bits) {
    return a.with_bits([=](Bits x, int) GRADRACE_ALWAYS { return x & bits; });
  }
  GRADRACE_INLINE friend LanesOf operator|(LanesOf a, std::uint32_t bits) {
    return a.with_bits([=](Bits x, int) GRADRACE_ALWAYS { return x | bits; });
  }
  GRADRACE_INLINE friend LanesOf operator|(LanesOf a, LanesOf b) {
    return a.with_bits([&](Bits x, int i)
                           GRADRACE_ALWAYS { return x | reinterpret_cast<Bits>(b.v[i]); });
  }
  /// The bits, shifted.
  GRADRACE_INLINE LanesOf up23() const {
    return with_bits([](Bits x, int) GRADRACE_ALWAYS { return x << 23; });
  }
  GRADRACE_INLINE LanesOf down23() const {
    return with_bits([](Bits x, int) GRADRACE_ALWAYS { return x >> 23; });
  }

  /// of() of all lanes, each time of those half as far apart.
  template <class Of>
  GRADRACE_INLINE Number folded(const Of& of) const {
    Register one[registers];
#pragma GCC unroll 16
    for (int i = 0; i < registers; ++i) one[i] = v[i];
#pragma GCC unroll 4
    for (int half = registers / 2; half > 0; half /= 2)
#pragma GCC unroll 16
      for (int i = 0; i < half; ++i) one[i] = of(one[i], one[i + half]);
    return folded_within<width>(one[0], of);
  }
  template <int left, class Of>
  GRADRACE_INLINE static Number folded_within(Vector<Number, left> x, const Of& of) {
    if constexpr (left == 2) {
      return of(x[0], x[1]);
    } else {
      Vector<Number, left / 2> halves[2];
      std::memcpy(halves, &x, sizeof x);
      return folded_within<left / 2>(of(halves[0], halves[1]), of);
    }
  }
  GRADRACE_INLINE Number total() const {
    return folded([](auto a, auto b) GRADRACE_ALWAYS { return a + b; });
  }
  GRADRACE_INLINE Number greatest() const {
    return folded([](auto a, auto b) GRADRACE_ALWAYS { return a > b ? a : b; });
  }
};

}  // namespace
}  // namespace gradrace::kernels
