#pragma once

#include <Random123/philox.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/check.h"
#include "sim/host_device.h"

namespace gradrace {

/// What random numbers are for.  Two purposes never share a stream; the numbers are part of every
/// result, so a new purpose goes to the end.
enum class Purpose : std::uint8_t {
  runtime,              // of a learner's draw-th minibatch
  minibatch,            // row numbers of a learner's draw-th minibatch
  permutation,          // order of rows in an epoch of a learner
  gradient_noise,       // of models that add their noise themselves
  initial_weights,      // value 0
  dataset,              // data made by the program
  train_rows,           // which rows an evaluation of the training loss looks at
  persistence,          // step of a learner's state to its draw-th minibatch
  outlier,              // whether a learner's draw-th minibatch is one
  outlier_runtime,      // its time if it is
  outlier_probability,  // of the draw-th minibatches of all learners
  pull,                 // time of the model's way to a learner's draw-th minibatch
  push,                 // time of its gradient's way back
  failure,              // time to a learner's draw-th failure
  bootstrap,            // of nothing any more; keeps the numbers of those below
  crop,                 // where the images of a learner's draw-th minibatch are cropped
  flip,                 // which of them are mirrored
  test_rows,            // which rows an evaluation of the test loss looks at
  partition,            // which rows are a learner's
  peers,                // choices of a protocol without a server: draw-th of a learner
  order_statistic,      // time of the draw-th update, where that alone is drawn
  repair,               // time from a learner's draw-th failure to its return
  compression,          // rounding in the message of a learner's draw-th minibatch
  clients,              // choices of a protocol with a server, the draw-th
};

/// The name of a random stream.  Equal names give equal numbers, on every machine and in any order
/// of use, so two protocols see the same luck and a run can be repeated anywhere.  replica < 2^24.
struct StreamName {
  std::uint64_t seed = 1;
  std::uint32_t replica = 0;
  Purpose purpose = Purpose::runtime;
  std::uint32_t learner = 0;
  std::uint32_t draw = 0;
};

using Philox = r123::Philox4x32;

GRADRACE_HD inline Philox::key_type philox_key(const StreamName& name) {
  return {{static_cast<std::uint32_t>(name.seed), static_cast<std::uint32_t>(name.seed >> 32)}};
}

GRADRACE_HD inline Philox::ctr_type philox_counter(const StreamName& name, std::uint32_t block) {
  const auto purpose = static_cast<std::uint32_t>(name.purpose);
  return {{name.draw, name.learner, purpose << 24 | name.replica, block}};
}

/// A uniform random bit generator of 32 bits: Philox4x32-10 counting through one named stream of
/// 2^34 words, each block from its last word to its first.
/// Source: Salmon, Moraes, Dror, Shaw, SC 2011.
class Stream {
 public:
  using result_type = std::uint32_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return 0xffffffff; }

  explicit Stream(const StreamName& name) : name_(name) {}
  /// One whose block 0 has been computed.
  Stream(const StreamName& name, const Philox::ctr_type& first)
      : name_(name), block_(first), blocks_(1), left_(first.size()) {}

  result_type operator()() {
    if (left_ == 0) {
      block_ = Philox()(philox_counter(name_, blocks_++), philox_key(name_));
      left_ = block_.size();
    }
    return block_[--left_];
  }

  /// The next words, as many calls give them; in sim/philox_blocks.cpp.
  void fill(std::span<result_type> words);

 private:
  StreamName name_;
  Philox::ctr_type block_{};
  std::uint32_t blocks_ = 0;
  std::size_t left_ = 0;
};

inline void check_name(const StreamName& name) {
  GRADRACE_CHECK(name.replica < (1u << 24), "replica numbers end at 2^24");
}

inline Stream stream(const StreamName& name) {
  check_name(name);
  return Stream(name);
}

/// floor(u n / 2^32) with the next word u: one of 0 ... n - 1.
inline std::uint32_t uniform_below(Stream& words, std::uint32_t n) {
  return static_cast<std::uint32_t>((std::uint64_t{words()} * n) >> 32);
}

/// Words 4 block to 4 block + 3 of the stream, by number.
GRADRACE_HD inline std::array<std::uint32_t, 4> philox_block(const StreamName& name,
                                                             std::uint32_t block) {
  const auto words = Philox()(philox_counter(name, block), philox_key(name));
  return {words[0], words[1], words[2], words[3]};
}

}  // namespace gradrace
