#pragma once

#include <cmath>
#include <cstdint>

#include "sim/random.h"

namespace gradrace::kernels {

/// The numbers of Boost.Random's ziggurats.
struct Ziggurat {
  double normal_x[129], normal_y[129], exponential_x[257], exponential_y[257];
};

/// The words of a stream, in the order in which Stream gives them.
class Words {
 public:
  GRADRACE_HD explicit Words(const StreamName& name) : name_(name) {}

  GRADRACE_HD std::uint32_t next() {
    if (left_ == 0) {
      words_ = philox_block(name_, block_++);
      left_ = 4;
    }
    return words_[--left_];
  }

 private:
  StreamName name_;
  std::array<std::uint32_t, 4> words_{};
  std::uint32_t block_ = 0, left_ = 0;
};

/// N(0, 1) as boost::random::normal_distribution<double> draws it, word by word: the same numbers
/// from the same stream.  Source: Boost 1.74, by Marsaglia, Tsang, J. Stat. Software 5(8), 2000.
class Normal {
 public:
  GRADRACE_HD Normal(const Ziggurat& table, const StreamName& name) : table_(table), words_(name) {}

  GRADRACE_HD double next() {
    const double* const xs = table_.normal_x;
    const double* const ys = table_.normal_y;
    for (;;) {
      const Draw draw = next_draw();
      const double sign = draw.bucket % 2 == 1 ? 1 : -1;
      const std::uint32_t i = draw.bucket / 2;
      const double x = draw.fraction * xs[i];
      if (x < xs[i + 1]) return x * sign;
      if (i == 0) return tail() * sign;
      const double u = uniform(), y = ys[i] + u * (ys[i + 1] - ys[i]);
      const double chord = (xs[i] - xs[i + 1]) * u - (xs[i] - x);
      const double tangent = y - (ys[i] + (xs[i] - x) * ys[i] * xs[i]);
      const bool convex = xs[i] >= 1;
      const double above_upper = convex ? chord : tangent, above_lower = convex ? tangent : chord;
      if (above_upper < 0 && (above_lower < 0 || y < std::exp(-(x * x / 2)))) return x * sign;
    }
  }

 private:
  struct Draw {
    double fraction;
    std::uint32_t bucket;  // below 256
  };

  GRADRACE_HD Draw next_draw() {
    const std::uint32_t high = words_.next(), low = words_.next();
    const double top = static_cast<double>(high >> 8) * (1.0 / (1u << 24));
    return {(top + (low & ((1u << 29) - 1))) * (1.0 / (1u << 29)), high & 255};
  }

  GRADRACE_HD double uniform() { return words_.next() * (1.0 / 4294967296.0); }

  GRADRACE_HD double exponential() {
    const double* const xs = table_.exponential_x;
    const double* const ys = table_.exponential_y;
    for (double shift = 0;;) {
      const auto [fraction, i] = next_draw();
      const double x = fraction * xs[i];
      if (x < xs[i + 1]) return shift + x;
      if (i == 0) {
        shift += xs[1];
        continue;
      }
      const double u = uniform(), y = ys[i] + u * (ys[i + 1] - ys[i]);
      const double above_upper = (xs[i] - xs[i + 1]) * u - (xs[i] - x);
      const double above_lower = y - (ys[i + 1] + (xs[i + 1] - x) * ys[i + 1]);
      if (above_upper < 0 && (above_lower < 0 || y < std::exp(-x))) return x + shift;
    }
  }

  GRADRACE_HD double tail() {
    const double start = table_.normal_x[1];
    for (;;) {
      const double x = exponential() / start, y = exponential();
      if (2 * y > x * x) return x + start;
    }
  }

  const Ziggurat& table_;
  Words words_;
};

}  // namespace gradrace::kernels
