#pragma once

#include <cstdint>
#include <span>

#include "models/datasets/permutation.h"
#include "sim/host_device.h"
#include "sim/random.h"

namespace gradrace {

/// Names a learner's minibatch: with the run's seed and replica it says which samples and which
/// noise.
struct MinibatchName {
  std::uint64_t seed;
  std::uint32_t replica, learner, draw;
  std::uint32_t size;  // m

  friend bool operator==(const MinibatchName&, const MinibatchName&) = default;
};

/// How the rows of a learner's minibatches are drawn from the n rows of the training set.
enum class Sampling : std::uint8_t {
  iid,    // each row independently, with replacement
  epoch,  // the learner walks through a permutation of all rows, then through the next
};

/// rows [m]: the row numbers, each below n, of a minibatch.  Integers only.
///
/// iid: row i = floor(u_i n / 2^32), u_i the i-th word of the stream (seed, replica, minibatch,
/// learner, draw).
///
/// epoch: sample i is at position p = draw m + i of the learner's walk; its row is number p mod n
/// of the permutation (seed, replica, permutation, learner, floor(p / n)).
void minibatch_rows(Sampling sampling, const MinibatchName& name, std::uint32_t n,
                    std::span<std::uint32_t> rows);

/// The same from the n rows of a shard [n] in place of the numbers below n.
void minibatch_rows(Sampling sampling, const MinibatchName& name,
                    std::span<const std::uint32_t> shard, std::span<std::uint32_t> rows);

/// The part of iid's rows that falls to one of so many threads.
GRADRACE_HD inline void draw_iid(const MinibatchName& name, std::uint32_t n, std::uint32_t* rows,
                                 std::uint32_t thread, std::uint32_t threads) {
  const StreamName stream{name.seed, name.replica, Purpose::minibatch, name.learner, name.draw};
  for (std::uint32_t i = 4 * thread; i < name.size; i += 4 * threads) {
    const auto words = philox_block(stream, i / 4);
    for (std::uint32_t j = i; j < i + 4 && j < name.size; ++j)
      rows[j] = static_cast<std::uint32_t>((std::uint64_t{words[j - i]} * n) >> 32);
  }
}

/// The part of epoch's rows that falls to one of so many threads.
GRADRACE_HD inline void draw_epoch(const MinibatchName& name, std::uint32_t n, std::uint32_t* rows,
                                   std::uint32_t thread, std::uint32_t threads) {
  const auto order_of = [&](std::uint64_t epoch) {
    return Permutation({name.seed, name.replica, Purpose::permutation, name.learner,
                        static_cast<std::uint32_t>(epoch)},
                       n);
  };
  const std::uint64_t position = std::uint64_t{name.draw} * name.size + thread;
  std::uint64_t epoch = position / n, place = position % n;
  Permutation order = order_of(epoch);
  for (std::uint32_t i = thread; i < name.size; i += threads) {
    if (place >= n) {
      epoch += place / n;
      place %= n;
      order = order_of(epoch);
    }
    rows[i] = order(static_cast<std::uint32_t>(place));
    place += threads;
  }
}

}  // namespace gradrace
