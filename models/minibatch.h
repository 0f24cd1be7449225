#pragma once

#include <cstdint>
#include <span>

#include "models/model.h"

namespace gradrace {

/// How the rows of a learner's minibatches are drawn from the n rows of the training set.
enum class Sampling {
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

}  // namespace gradrace
