#pragma once

#include <span>
#include <utility>

#include "sim/random.h"

namespace gradrace {

/// What a learner makes of a row of numbers before it sends it: fewer bytes, from which the
/// receiver reads other numbers.
class Compressor {
 public:
  virtual ~Compressor() = default;

  /// Of the message of so many numbers.
  virtual double bytes(double numbers) const = 0;

  /// row: what is to be sent; becomes what the receiver reads.  `words`: of this message alone.
  virtual void pass(std::span<float> row, Stream words) const = 0;
  virtual void pass(std::span<double> row, Stream words) const = 0;
};

/// That of a kind, which has `double bytes(double numbers) const` and
/// `template <class Real> void pass(std::span<Real> row, Stream& words) const`.
template <class Kind>
class CompressorOf final : public Compressor {
 public:
  explicit CompressorOf(Kind kind) : kind_(std::move(kind)) {}

  double bytes(double numbers) const override { return kind_.bytes(numbers); }
  void pass(std::span<float> row, Stream words) const override { kind_.pass(row, words); }
  void pass(std::span<double> row, Stream words) const override { kind_.pass(row, words); }

 private:
  Kind kind_;
};

}  // namespace gradrace
