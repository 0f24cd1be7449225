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
  /// Whether a message's bytes depend on what it says; bytes() is about what they are at most in
  /// the mean then.
  virtual bool bytes_vary() const { return false; }

  /// Of a row of so many numbers: the most that E||C(v) - v||^2 / ||v||^2 can be; empty: not known.
  virtual std::optional<double> most_error(double) const { return {}; }

  /// row: what is to be sent; becomes what the receiver reads.  `words`: of this message alone;
  /// carried: as the message before left it.  The message's bytes, where they vary; else 0.
  virtual double pass(std::span<float> row, Stream words, std::span<float> carried = {}) const = 0;
  virtual double pass(std::span<double> row, Stream words,
                      std::span<double> carried = {}) const = 0;

  /// Numbers that go on from message to message, 0 at first.
  virtual std::size_t carried() const { return 0; }

  /// Collectives by which all learners make one message together, of the mean of what they have to
  /// send; 0: each makes its own.
  virtual std::uint32_t rounds() const { return 0; }
  bool joint() const { return rounds() > 0; }

  /// Whether sums of messages of so many numbers are messages, of as many bytes.
  virtual bool adds(double) const { return false; }
  /// Of a code that sends so many numbers of any row; else empty.
  virtual std::optional<std::uint64_t> sends() const { return {}; }
  /// Whether the words of learner 0 are those of all.
  virtual bool shares_words() const { return false; }

  /// What a GPU's blocks make of a row of so many numbers; empty: the CPU alone makes messages.
  virtual std::optional<BlockCode> block_code(std::size_t) const { return {}; }

  /// Whether messages are votes: a server sends back the message of their sum, of size 1.
  virtual bool votes() const { return false; }

  /// Of a kind whose code changes from step to step; else null.
  virtual std::shared_ptr<const Codes> codes(const Training&) const { return nullptr; }

  /// Whether it goes tensor by tensor; a row is one, unless it is of_tensors().
  virtual bool by_tensor() const = 0;
  /// The same, of rows of those tensors.
  virtual std::shared_ptr<const Compressor> of_tensors(std::vector<Tensor> tensors) const = 0;
};

/// What a kind derives from, and has `template <class Real> void make(std::span<Real> row, Stream&
/// words) const` for, which pass() calls; with a third parameter `std::span<Real> carried` where
/// numbers are carried on, and a double, the bytes, where these vary.  One that goes by buckets or
/// tensors has `Parts parts` (compression/parts.h).
template <class Kind>
class CompressorOf : public Compressor {
 public:
  double pass(std::span<float> row, Stream words, std::span<float> carried) const final {
    return pass_to_kind(row, words, carried);
  }
  double pass(std::span<double> row, Stream words, std::span<double> carried) const final {
    return pass_to_kind(row, words, carried);
  }

  bool by_tensor() const final {
    if constexpr (requires { kind().parts; }) return !kind().parts.bucket;
    return false;
  }
  std::shared_ptr<const Compressor> of_tensors(std::vector<Tensor> tensors) const final {
    const auto result = std::make_shared<Kind>(kind());
    if constexpr (requires { result->parts; }) result->parts.tensors = std::move(tensors);
    return result;
  }

 private:
  const Kind& kind() const { return static_cast<const Kind&>(*this); }

  template <class Real>
  double pass_to_kind(std::span<Real> row, Stream& words, std::span<Real> carried) const {
    if constexpr (requires { kind().make(row, words, carried); })
      kind().make(row, words, carried);
    else if constexpr (requires { double{kind().make(row, words)}; })
      return kind().make(row, words);
    else
      kind().make(row, words);
    return 0;
  }
};

}  // namespace gradrace
