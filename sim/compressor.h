#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/block_code.h"
#include "sim/random.h"
#include "sim/tensor.h"

namespace gradrace {

class Compressor;

/// What is known of a run before it begins.
struct Training {
  double numbers = 0;                         // of a gradient
  std::optional<double> eta;                  // the learning rate, if it is constant
  std::uint32_t gradients = 1;                // in an update
  std::optional<std::uint64_t> updates = {};  // at most
};

/// Chooses one of several codes for each step of a run.
class CodeChooser {
 public:
  virtual ~CodeChooser() = default;
  virtual std::uint16_t first() = 0;
  /// norm: ||g||_2 of the mean of the messages in the update before.
  virtual std::uint16_t next(double norm) = 0;
};

/// Bits of a number that are planned for the steps of a run where the norm of the gradient stays.
struct PlannedBits {
  double mean, first, last;
  double saved;  // that the same number for all steps takes more, for an equal error of the loss
};

struct Codes {
  std::vector<std::shared_ptr<const Compressor>> compressors;
  std::function<std::unique_ptr<CodeChooser>()> make_chooser;  // of a run
  std::optional<PlannedBits> planned = {};                     // where they are known before a run
  std::string_view lacks = {}, why = {};  // the key without which there is none; empty: nothing
};

/// What a learner makes of a row of numbers before it sends it: fewer bytes, from which the
/// receiver reads other numbers.
class Compressor {
 public:
  virtual ~Compressor() = default;

  /// Of the message of so many numbers.
  virtual double bytes(double numbers) const = 0;

  /// Of a row of so many numbers: the most that E||C(v) - v||^2 / ||v||^2 can be; empty: not known.
  virtual std::optional<double> most_error(double numbers) const = 0;

  /// row: what is to be sent; becomes what the receiver reads.  `words`: of this message alone;
  /// carried: as the message before left it.
  virtual void pass(std::span<float> row, Stream words, std::span<float> carried = {}) const = 0;
  virtual void pass(std::span<double> row, Stream words, std::span<double> carried = {}) const = 0;

  /// Numbers that go on from message to message, 0 at first.
  virtual std::size_t carried() const { return 0; }

  /// Collectives by which all learners make one message together, of the mean of what they have to
  /// send; 0: each makes its own.
  virtual std::uint32_t rounds() const { return 0; }
  bool joint() const { return rounds() > 0; }

  /// Whether sums of messages of so many numbers are messages, of as many bytes.
  virtual bool adds(double numbers) const = 0;
  /// Of a code that sends so many numbers of any row; else empty.
  virtual std::optional<std::uint64_t> sends() const { return {}; }
  /// Whether the words of learner 0 are those of all.
  virtual bool shares_words() const = 0;

  /// What a GPU's blocks make of a row of so many numbers; empty: the CPU alone makes messages.
  virtual std::optional<BlockCode> block_code(std::size_t numbers) const = 0;

  /// Whether messages are votes: a server sends back the message of their sum, of size 1.
  virtual bool votes() const { return false; }

  /// Whether it goes tensor by tensor; a row is one, unless it is of_tensors().
  virtual bool by_tensor() const = 0;
  /// Of a kind whose code changes from step to step; else null.
  virtual std::shared_ptr<const Codes> codes(const Training&) const { return nullptr; }

  /// The same, of rows of those tensors.
  virtual std::shared_ptr<const Compressor> of_tensors(std::vector<Tensor> tensors) const = 0;
};

/// That of a kind, which has `double bytes(double numbers) const`, `std::optional<double>
/// most_error(double numbers) const` where that is known, and
/// `template <class Real> void pass(std::span<Real> row, Stream& words) const`, and `Parts parts`
/// (compression/parts.h) where it goes by buckets or tensors, `Kept kept` (compression/kept.h)
/// where it sends so many numbers; `BlockCode block_code(std::size_t numbers) const` where a GPU
/// makes it, too; `bool adds(double numbers) const` and `bool shares_words()
/// const`, `bool votes() const`, `std::uint32_t rounds() const` where that may be,
/// `std::shared_ptr<const Codes> codes(const Training&) const` where it changes; where numbers are
/// carried on, `std::size_t carried() const`, and pass(row, words, carried).
template <class Kind>
class CompressorOf final : public Compressor {
 public:
  explicit CompressorOf(Kind kind) : kind_(std::move(kind)) {}

  double bytes(double numbers) const override { return kind_.bytes(numbers); }
  std::optional<double> most_error(double numbers) const override {
    if constexpr (requires { kind_.most_error(numbers); }) return kind_.most_error(numbers);
    return {};
  }
  void pass(std::span<float> row, Stream words, std::span<float> carried) const override {
    make(row, words, carried);
  }
  void pass(std::span<double> row, Stream words, std::span<double> carried) const override {
    make(row, words, carried);
  }

  std::size_t carried() const override {
    if constexpr (requires { kind_.carried(); }) return kind_.carried();
    return 0;
  }
  std::uint32_t rounds() const override {
    if constexpr (requires { kind_.rounds(); }) return kind_.rounds();
    return 0;
  }

  bool adds(double numbers) const override {
    if constexpr (requires { kind_.adds(numbers); }) return kind_.adds(numbers);
    return false;
  }
  std::optional<std::uint64_t> sends() const override {
    if constexpr (requires { kind_.kept; }) return kind_.kept.k;
    return {};
  }
  bool shares_words() const override {
    if constexpr (requires { kind_.shares_words(); }) return kind_.shares_words();
    return false;
  }

  std::optional<BlockCode> block_code(std::size_t numbers) const override {
    if constexpr (requires { kind_.block_code(numbers); }) return kind_.block_code(numbers);
    return {};
  }

  bool votes() const override {
    if constexpr (requires { kind_.votes(); }) return kind_.votes();
    return false;
  }

  std::shared_ptr<const Codes> codes(const Training& training) const override {
    if constexpr (requires { kind_.codes(training); }) return kind_.codes(training);
    return nullptr;
  }

  bool by_tensor() const override {
    if constexpr (has_parts) return !kind_.parts.bucket;
    return false;
  }
  std::shared_ptr<const Compressor> of_tensors(std::vector<Tensor> tensors) const override {
    Kind kind = kind_;
    if constexpr (has_parts) kind.parts.tensors = std::move(tensors);
    return std::make_shared<const CompressorOf>(std::move(kind));
  }

 private:
  static constexpr bool has_parts = requires(Kind kind) { kind.parts; };

  template <class Real>
  void make(std::span<Real> row, Stream& words, std::span<Real> carried) const {
    if constexpr (requires { kind_.pass(row, words, carried); })
      kind_.pass(row, words, carried);
    else
      kind_.pass(row, words);
  }

  Kind kind_;
};

}  // namespace gradrace
